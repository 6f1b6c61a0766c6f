"""privopt: declare a privacy-utility question, get the best mechanism with a certificate that it is private."""

from privopt import errors as errors
from privopt import measures as measures
from privopt._certificate import Certificate as Certificate
from privopt._collections import Comparison as Comparison
from privopt._collections import Frontier as Frontier
from privopt._collections import compare as compare
from privopt._collections import frontier as frontier
from privopt._dispatch import candidates as candidates
from privopt._dispatch import select as select
from privopt._dispatch import solve as solve
from privopt._graph_plots import accuracy_figure as accuracy_figure
from privopt._graph_plots import colouring_figure as colouring_figure
from privopt._ledger import BudgetLedger as BudgetLedger
from privopt._load import load_model as load_model
from privopt._load import load_problem as load_problem
from privopt._load import problem_from_dict as problem_from_dict
from privopt._problem import Evaluation as Evaluation
from privopt._problem import Example as Example
from privopt._problem import Problem as Problem
from privopt._registry import register as register
from privopt._registry import scan as scan
from privopt._remote_release import release_users as release_users
from privopt._solution import Solution as Solution
from privopt._solution import Status as Status
from privopt._solver import Budget as Budget
from privopt._solver import Candidate as Candidate
from privopt._solver import Guarantee as Guarantee
from privopt._solver import Proposal as Proposal
from privopt._solver import Solver as Solver
from privopt._verify import verify as verify
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
from privopt.models import DatasetGraph as DatasetGraph
from privopt.models import GaussianModel as GaussianModel
from privopt.models import GroupModel as GroupModel
from privopt.models import JointDistribution as JointDistribution
from privopt.models import MarkovChain as MarkovChain
from privopt.models import ObservedJoint as ObservedJoint
from privopt.models import model_from_dict as model_from_dict
from privopt.problems.bayesian_privacy import BayesianPrivacy as BayesianPrivacy
from privopt.problems.belief_release import BeliefRelease as BeliefRelease
from privopt.problems.boundary_colouring import BoundaryColouring as BoundaryColouring
from privopt.problems.distortion_privacy import DistortionPrivacy as DistortionPrivacy
from privopt.problems.information_bottleneck import InformationBottleneck as InformationBottleneck
from privopt.problems.local_information_privacy import LocalInformationPrivacy as LocalInformationPrivacy
from privopt.problems.privacy_funnel import PrivacyFunnel as PrivacyFunnel
from privopt.problems.redaction import Redaction as Redaction
from privopt.problems.sequence_information_privacy import (
    SequenceInformationPrivacy as SequenceInformationPrivacy,
)

__version__ = "0.1.0"
