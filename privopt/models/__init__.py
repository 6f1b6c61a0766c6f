"""What is known of the data: distributions that are validated when they are made."""

from privopt.models.ambiguity.chains import ChainAmbiguity as ChainAmbiguity
from privopt.models.ambiguity.covariances import CovarianceAmbiguity as CovarianceAmbiguity
from privopt.models.ambiguity.joint import JointAmbiguity as JointAmbiguity
from privopt.models.ambiguity.row_set import RowSet as RowSet
from privopt.models.gaussian import GaussianModel as GaussianModel
from privopt.models.gaussian import GroupModel as GroupModel
from privopt.models.graph.graph import DatasetGraph as DatasetGraph
from privopt.models.joint import JointDistribution as JointDistribution
from privopt.models.load import Model as Model
from privopt.models.load import model_from_dict as model_from_dict
from privopt.models.markov.chain import MarkovChain as MarkovChain
from privopt.models.observed import ObservedJoint as ObservedJoint

__all__ = [
    "ChainAmbiguity",
    "CovarianceAmbiguity",
    "DatasetGraph",
    "GaussianModel",
    "GroupModel",
    "JointAmbiguity",
    "JointDistribution",
    "MarkovChain",
    "Model",
    "ObservedJoint",
    "RowSet",
    "model_from_dict",
]
