"""The JSON Schema of answers, as an independent reading of them."""

from functools import cache

import jsonschema

from kschedctl.questions.schema.schema import schema


@cache
def validator() -> jsonschema.Draft202012Validator:
    """Return the validator of all answers. Making and checking the schema takes half a second, so it is done once."""
    made = schema()
    jsonschema.Draft202012Validator.check_schema(made)
    return jsonschema.Draft202012Validator(made)


def validate(answer: object) -> None:
    """Compare an answer, as JSON reads it, with the schema; an error if it does not fit."""
    validator().validate(answer)
