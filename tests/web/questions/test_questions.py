"""Questions that take long."""

import json

import pytest

from kschedctl.common.errors import ManifestError
from kschedctl.questions.cluster_request import ClusterRequest, ClusterSource
from kschedctl.questions.diff.answer import Diff
from kschedctl.questions.handle import AnalysisHandle
from kschedctl.questions.simulate.request import SimulateRequest
from kschedctl.web.questions.question import Asked, AskedRequest
from kschedctl.web.questions.questions import CompareQuery, ManifestQuery, compare, simulate_queue
from tests.builders import load_engine
from tests.paths import ROOT

SHOP = str(ROOT / "fixtures/shop/cluster")


def test_a_job_of_more_pods_than_can_be_created_ends_at_once() -> None:
    template = {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    spec = {"replicas": 10**9, "selector": {"matchLabels": {"app": "web"}}, "template": template}
    web = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"}, "spec": spec}
    asked = AskedRequest(ManifestQuery(), body=json.dumps(web).encode(), request=SimulateRequest())
    with pytest.raises(ManifestError, match="1,000,000,000 pods would be created one by one"):
        simulate_queue(load_engine(SHOP), asked, AnalysisHandle())


def test_the_rules_of_a_comparison_are_those_of_the_server() -> None:
    cluster = load_engine(SHOP, kubernetes_version="1.34")
    other = ClusterRequest(source=ClusterSource(paths=(SHOP,)), kubernetes_version="1.34")
    answer = compare(cluster, Asked(CompareQuery(), compare=(other,)), AnalysisHandle())
    assert isinstance(answer, Diff)
    assert [side.rules.kubernetes_version for side in (answer.before, answer.after)] == ["1.34", "1.34"]
