"""Reading any model from its plain form."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeAlias

from privopt.errors import InvalidModel
from privopt.models.ambiguity.chains import ChainAmbiguity
from privopt.models.ambiguity.covariances import CovarianceAmbiguity
from privopt.models.ambiguity.joint import JointAmbiguity
from privopt.models.ambiguity.row_set import RowSet
from privopt.models.gaussian import GaussianModel, GroupModel
from privopt.models.graph.graph import DatasetGraph
from privopt.models.joint import JointDistribution
from privopt.models.markov.chain import MarkovChain
from privopt.models.observed import ObservedJoint

Model: TypeAlias = (
    ChainAmbiguity
    | CovarianceAmbiguity
    | DatasetGraph
    | GaussianModel
    | GroupModel
    | JointAmbiguity
    | JointDistribution
    | MarkovChain
    | ObservedJoint
    | RowSet
)

_READERS: dict[str, Callable[[Mapping[str, object]], Model]] = {
    "chain_ambiguity": ChainAmbiguity.from_dict,
    "covariance_ambiguity": CovarianceAmbiguity.from_dict,
    "dataset_graph": DatasetGraph.from_dict,
    "gaussian": GaussianModel.from_dict,
    "group": GroupModel.from_dict,
    "joint_ambiguity": JointAmbiguity.from_dict,
    "joint_distribution": JointDistribution.from_dict,
    "markov_chain": MarkovChain.from_dict,
    "observed_joint": ObservedJoint.from_dict,
    "row_set": RowSet.from_dict,
}


def model_from_dict(d: Mapping[str, object]) -> Model:
    """Read the model that some ``to_dict`` wrote, of whatever type.

    Parameters
    ----------
    d : dict
        Plain JSON values; the key ``type`` says which model.

    Returns
    -------
    ChainAmbiguity, CovarianceAmbiguity, DatasetGraph, GaussianModel, GroupModel, JointAmbiguity, JointDistribution, MarkovChain, ObservedJoint or RowSet
        The model.

    Raises
    ------
    InvalidModel
        If the type is missing or unknown, or the document is not well formed.

    Examples
    --------
    >>> model_from_dict(MarkovChain([[0.5, 0.5], [0.25, 0.75]]).to_dict())
    MarkovChain(2 states, homogeneous, stationary)
    """
    if not isinstance(d, Mapping):
        raise InvalidModel(f"a model document is a dict, not a {type(d).__name__}")
    kind = d.get("type")
    if not isinstance(kind, str) or kind not in _READERS:
        known = ", ".join(sorted(_READERS))
        raise InvalidModel(f"the model document has the type {kind!r}: known types are {known}")
    return _READERS[kind](d)
