from kschedctl.scheduler.preemption.result import NoLowerPriority
from tests.builders import told


def test_words_of_a_node_without_victims() -> None:
    assert told(NoLowerPriority(-5)) == ("no pod with a priority below -5", {})
