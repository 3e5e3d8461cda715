import pickle

import msgspec
import pytest

from kschedctl.questions.answer import OperandsData, encode_operands, schema_of
from kschedctl.scheduler.plugins.basics import OtherNodeNamed

NONE, NAMED = OperandsData(None), OperandsData(OtherNodeNamed("b"))


def test_operands_are_an_object_in_json_and_none_are_an_empty_one() -> None:
    assert msgspec.json.encode([NAMED, NONE], enc_hook=encode_operands) == b'[{"nodeName":"b"},{}]'


def test_equal_operands_are_equal_also_in_another_process() -> None:
    assert pickle.loads(pickle.dumps(NAMED)) == NAMED == OperandsData(OtherNodeNamed("b"))
    assert len({NAMED, OperandsData(OtherNodeNamed("b")), NONE}) == 2
    assert repr(NAMED) == "OperandsData(OtherNodeNamed(node_name='b'))"


def test_what_is_no_part_of_an_answer_is_refused() -> None:
    with pytest.raises(NotImplementedError, match="answers have no complex"):
        encode_operands(1j)
    with pytest.raises(NotImplementedError, match="answers have no complex"):
        schema_of(complex)
