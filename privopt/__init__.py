"""privopt: declare a privacy-utility problem, get the best mechanism with a certificate that it is private."""

from privopt import errors as errors
from privopt import measures as measures
from privopt.cluster.release import release_users as release_users
from privopt.core.certificate import Certificate as Certificate
from privopt.core.compare import Comparison as Comparison
from privopt.core.compare import Frontier as Frontier
from privopt.core.compare import compare as compare
from privopt.core.compare import frontier as frontier
from privopt.core.dispatch import candidates as candidates
from privopt.core.dispatch import select as select
from privopt.core.dispatch import solve as solve
from privopt.core.ledger import BudgetLedger as BudgetLedger
from privopt.core.problem import Evaluation as Evaluation
from privopt.core.problem import Example as Example
from privopt.core.problem import Problem as Problem
from privopt.core.reformulation import Reformulation as Reformulation
from privopt.core.registry import register as register
from privopt.core.registry import scan as scan
from privopt.core.solution import Solution as Solution
from privopt.core.solution import Status as Status
from privopt.core.solver import Budget as Budget
from privopt.core.solver import Candidate as Candidate
from privopt.core.solver import Guarantee as Guarantee
from privopt.core.solver import Proposal as Proposal
from privopt.core.solver import Solver as Solver
from privopt.core.verify import verify as verify
from privopt.core.words import Quantity as Quantity
from privopt.core.words import Words as Words
from privopt.files.load import load_model as load_model
from privopt.files.load import load_problem as load_problem
from privopt.files.load import problem_from_dict as problem_from_dict
from privopt.measures import Attack as Attack
from privopt.measures import adversary as adversary
from privopt.mechanisms import Channel as Channel
from privopt.mechanisms import Colouring as Colouring
from privopt.mechanisms import Mechanism as Mechanism
from privopt.mechanisms import Merging as Merging
from privopt.mechanisms import NoisyQuery as NoisyQuery
from privopt.mechanisms import Query as Query
from privopt.mechanisms import RedactionMechanism as RedactionMechanism
from privopt.mechanisms import SequencePolicy as SequencePolicy
from privopt.models import ChainAmbiguity as ChainAmbiguity
from privopt.models import CovarianceAmbiguity as CovarianceAmbiguity
from privopt.models import DatasetGraph as DatasetGraph
from privopt.models import GaussianModel as GaussianModel
from privopt.models import GroupModel as GroupModel
from privopt.models import JointAmbiguity as JointAmbiguity
from privopt.models import JointDistribution as JointDistribution
from privopt.models import MarkovChain as MarkovChain
from privopt.models import ObservedJoint as ObservedJoint
from privopt.models import RowSet as RowSet
from privopt.models import model_from_dict as model_from_dict
from privopt.models.distance import distance as distance
from privopt.models.metric import Metric as Metric
from privopt.plots.colourings import accuracy_figure as accuracy_figure
from privopt.plots.colourings import colouring_figure as colouring_figure
from privopt.problems.bayesian_privacy.problem import BayesianPrivacy as BayesianPrivacy
from privopt.problems.belief_release.problem import BeliefRelease as BeliefRelease
from privopt.problems.boundary_colouring.problem import BoundaryColouring as BoundaryColouring
from privopt.problems.distortion_privacy.problem import DistortionPrivacy as DistortionPrivacy
from privopt.problems.information_bottleneck.problem import InformationBottleneck as InformationBottleneck
from privopt.problems.local_information_privacy.problem import (
    LocalInformationPrivacy as LocalInformationPrivacy,
)
from privopt.problems.metric_privacy.problem import MetricPrivacy as MetricPrivacy
from privopt.problems.pointwise_maximal_leakage.problem import (
    PointwiseMaximalLeakage as PointwiseMaximalLeakage,
)
from privopt.problems.post_randomisation.problem import PostRandomisation as PostRandomisation
from privopt.problems.privacy_funnel.problem import PrivacyFunnel as PrivacyFunnel
from privopt.problems.redaction.problem import Redaction as Redaction
from privopt.problems.sequence_information_privacy.problem import (
    SequenceInformationPrivacy as SequenceInformationPrivacy,
)
from privopt.publication.bundle import bundle as bundle
from privopt.publication.bundle import verify_bundle as verify_bundle
from privopt.publication.publication import Publication as Publication
from privopt.publication.publish import publish as publish

__version__ = "0.1.0"
