"""The OpenAPI document is valid, complete, and describes what the server answers."""

from typing import Any

import jsonschema
import pytest
from litestar.testing import TestClient
from openapi_spec_validator import validate

from kschedctl.web.questions.registry import QUESTIONS


@pytest.fixture(scope="module")
def document(shop: TestClient[Any]) -> dict[str, Any]:
    found: dict[str, Any] = shop.get("/api/v1/openapi.json").json()
    return found


def test_it_is_a_valid_document(document: dict[str, Any]) -> None:
    validate(document)


def test_it_has_every_question(document: dict[str, Any]) -> None:
    operations = {
        (operation["operationId"], path, method)
        for path, methods in document["paths"].items()
        for method, operation in methods.items()
        if method != "parameters"
    }
    for question in QUESTIONS:
        assert (question.name, f"/api/v1{question.path}", question.method.lower()) in operations
    assert len(operations) == len(QUESTIONS) + 5


def test_everything_has_a_description(document: dict[str, Any]) -> None:
    schemas = document["components"]["schemas"]
    without = [
        f"{name}.{field}"
        for name, schema in schemas.items()
        for field, value in schema.get("properties", {}).items()
        if not value.get("description")
    ]
    without += [
        f"{path} {parameter['name']}"
        for path, methods in document["paths"].items()
        for operation in methods.values()
        for parameter in (operation if isinstance(operation, list) else operation.get("parameters", ()))
        if not parameter["description"]
    ]
    assert without == []


ADDRESSES = {
    "/api/v1/cluster": "ClusterSummary",
    "/api/v1/nodes": "NodesOverview",
    "/api/v1/nodes/node-8": "NodeDescription",
    "/api/v1/pods": "PodsOverview",
    "/api/v1/pods/shop/web-7/explain": "Explanation",
    "/api/v1/pods/shop/search-3/preempt": "Preemption",
    "/api/v1/pods/data/postgres-0/volumes": "PodVolumes",
    "/api/v1/pending": "Pending",
    "/api/v1/workloads": "WorkloadsOverview",
    "/api/v1/workloads/Deployment/shop/web": "WorkloadDescription",
    "/api/v1/budgets": "BudgetsOverview",
    "/api/v1/budgets/data/postgres": "BudgetDescription",
    "/api/v1/volumes": "VolumesList",
    "/api/v1/devices": "DevicesOverview",
    "/api/v1/leader": "LeaderOverview",
    "/api/v1/search?q=web": "SearchResults",
    "/api/v1/jobs": "JobList",
    "/api/v1/nodes/none": "Problem",
}


@pytest.mark.parametrize(("address", "kind"), ADDRESSES.items(), ids=str)
def test_answers_are_of_their_schemas(shop: TestClient[Any], document: dict[str, Any], address: str, kind: str) -> None:
    answer = shop.get(address)
    assert answer.status_code == (404 if kind == "Problem" else 200), answer.text
    schema = {"$ref": f"#/components/schemas/{kind}", "components": document["components"]}
    jsonschema.Draft202012Validator(schema).validate(answer.json())
