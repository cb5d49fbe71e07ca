"""The simulated cluster, which drives the real schedule; and its picture."""

from __future__ import annotations

from xml.etree import ElementTree

import pytest

from bench.cluster_picture import WORKERS, figures, picture
from bench.cluster_simulation import Cluster, Costs, simulated

FREE = Costs(pack=0.0, send=0.0, route=0.0, way=0.0)


def test_where_nothing_else_takes_time_workers_are_busy():
    made = simulated(Cluster(10, 1000, 0.1, FREE))
    assert made.efficiency > 0.95
    assert made.coordinator == made.scheduler == made.lost == 0


def test_a_coordinator_that_is_busy_throughout_is_the_limit():
    made = simulated(Cluster(100, 5000, 0.01))
    assert made.coordinator > 0.9
    assert made.efficiency < 0.5
    assert made.seconds > 5000 * 2 * Costs().pack


def test_jobs_as_long_as_their_way_asks_for_are_fewer_and_no_slower():
    asked, fixed = (
        simulated(Cluster(100, 5000, 0.01, follows=follows))
        for follows in (True, False)
    )
    assert asked.jobs < fixed.jobs
    assert asked.seconds < fixed.seconds


def test_all_is_done_though_workers_die_and_the_same_comes_of_the_same_seed():
    cluster = Cluster(10, 300, 0.1, lifetime=5.0)
    made = simulated(cluster)
    assert made == simulated(cluster)
    assert made.lost > 0


def test_workers_that_die_do_not_have_all_others_wait():
    made = simulated(Cluster(300, 3000, 1.0, lifetime=500.0))
    assert made.lost > 10
    assert made.efficiency > 0.75


@pytest.mark.stress
def test_the_picture_is_well_formed_and_has_a_line_for_each_figure():
    found = figures()
    root = ElementTree.fromstring(picture(found))
    lines = [one for one in root.iter() if one.tag.endswith("polyline")]
    assert [len(one.attrib["points"].split()) for one in lines] == [
        len(WORKERS) for _ in found
    ]
