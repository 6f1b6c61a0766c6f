"""Leakage and utility of a mechanism under a model: pure functions, in nats."""

from privopt.measures.alpha import alpha_leakage as alpha_leakage
from privopt.measures.alpha import alpha_lift as alpha_lift
from privopt.measures.alpha import alpha_loss as alpha_loss
from privopt.measures.alpha import expected_alpha_loss as expected_alpha_loss
from privopt.measures.alpha import min_entropy_leakage as min_entropy_leakage
from privopt.measures.alpha import optimal_alpha_belief as optimal_alpha_belief
from privopt.measures.bayesian.leakage import bayesian_leakage as bayesian_leakage
from privopt.measures.bound import Bound as Bound
from privopt.measures.capacity import capacity as capacity
from privopt.measures.colouring.boundary_values import MinimaxChange as MinimaxChange
from privopt.measures.colouring.boundary_values import above as above
from privopt.measures.colouring.boundary_values import below as below
from privopt.measures.colouring.boundary_values import (
    colouring_with_edge_budgets as colouring_with_edge_budgets,
)
from privopt.measures.colouring.boundary_values import minimax_change as minimax_change
from privopt.measures.colouring.hops import error_by_distance as error_by_distance
from privopt.measures.colouring.privacy import ColouringPrivacy as ColouringPrivacy
from privopt.measures.colouring.privacy import colouring_delta as colouring_delta
from privopt.measures.colouring.privacy import colouring_epsilon as colouring_epsilon
from privopt.measures.colouring.privacy import colouring_privacy as colouring_privacy
from privopt.measures.colouring.privacy import dominates as dominates
from privopt.measures.colouring.privacy import is_optimal_colouring as is_optimal_colouring
from privopt.measures.colouring.privacy import is_private_colouring as is_private_colouring
from privopt.measures.differential import delta_at as delta_at
from privopt.measures.differential import differential_privacy as differential_privacy
from privopt.measures.differential import local_differential_privacy as local_differential_privacy
from privopt.measures.lifts import InformationPrivacy as InformationPrivacy
from privopt.measures.lifts import lift as lift
from privopt.measures.lifts import local_information_privacy as local_information_privacy
from privopt.measures.lifts import log_lift as log_lift
from privopt.measures.lifts import mutual_information_bound as mutual_information_bound
from privopt.measures.redaction.influence import data_independent_bound as data_independent_bound
from privopt.measures.redaction.influence import influence as influence
from privopt.measures.redaction.influence import regions as regions
from privopt.measures.redaction.leakage import redaction_gradient as redaction_gradient
from privopt.measures.redaction.leakage import redaction_leakage as redaction_leakage
from privopt.measures.report.axioms import Axioms as Axioms
from privopt.measures.report.axioms import axioms as axioms
from privopt.measures.report.implications import ImpliedBound as ImpliedBound
from privopt.measures.report.implications import implied_bounds as implied_bounds
from privopt.measures.report.report import LeakageReport as LeakageReport
from privopt.measures.report.report import LeakageRow as LeakageRow
from privopt.measures.report.report import leakage_report as leakage_report
from privopt.measures.robust import repeated_leakage as repeated_leakage
from privopt.measures.robust import robust_level as robust_level
from privopt.measures.robust import robustness_radius as robustness_radius
from privopt.measures.sequence.adversary import Attack as Attack
from privopt.measures.sequence.adversary import adversary as adversary
from privopt.measures.sequence.adversary import hmm_reidentify as hmm_reidentify
from privopt.measures.sequence.batch_distortion import BatchDistortion as BatchDistortion
from privopt.measures.sequence.batch_distortion import iid_batch_distortion as iid_batch_distortion
from privopt.measures.sequence.composition import composition as composition
from privopt.measures.sequence.leakage import SequenceRatios as SequenceRatios
from privopt.measures.sequence.leakage import sequence_leakage as sequence_leakage
from privopt.measures.sequence.leakage import sequence_ratios as sequence_ratios
from privopt.measures.shannon import conditional_entropy as conditional_entropy
from privopt.measures.shannon import entropy as entropy
from privopt.measures.shannon import mutual_information as mutual_information
from privopt.measures.sibson import maximal_alpha_leakage as maximal_alpha_leakage
from privopt.measures.sibson import maximal_leakage as maximal_leakage
from privopt.measures.sibson import sibson_mutual_information as sibson_mutual_information

__all__ = [
    "Attack",
    "Axioms",
    "BatchDistortion",
    "Bound",
    "ColouringPrivacy",
    "ImpliedBound",
    "InformationPrivacy",
    "LeakageReport",
    "LeakageRow",
    "MinimaxChange",
    "SequenceRatios",
    "above",
    "adversary",
    "alpha_leakage",
    "alpha_lift",
    "alpha_loss",
    "axioms",
    "bayesian_leakage",
    "below",
    "capacity",
    "colouring_delta",
    "colouring_epsilon",
    "colouring_privacy",
    "colouring_with_edge_budgets",
    "composition",
    "conditional_entropy",
    "data_independent_bound",
    "delta_at",
    "differential_privacy",
    "dominates",
    "entropy",
    "error_by_distance",
    "expected_alpha_loss",
    "hmm_reidentify",
    "iid_batch_distortion",
    "implied_bounds",
    "influence",
    "is_optimal_colouring",
    "is_private_colouring",
    "leakage_report",
    "lift",
    "local_differential_privacy",
    "local_information_privacy",
    "log_lift",
    "maximal_alpha_leakage",
    "maximal_leakage",
    "min_entropy_leakage",
    "minimax_change",
    "mutual_information",
    "mutual_information_bound",
    "optimal_alpha_belief",
    "redaction_gradient",
    "redaction_leakage",
    "regions",
    "sequence_leakage",
    "sequence_ratios",
    "sibson_mutual_information",
]
