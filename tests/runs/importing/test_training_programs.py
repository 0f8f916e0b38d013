"""Logs of es-at-scale, verl, eggroll-vllm and HyperscaleES: steps, numbers, members, config, and how a run ended."""

from __future__ import annotations

import json
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management import call_command

from runs import metrics
from runs.models import Population, Run
from tests.cases import each_case
from tests.runs.api_client import calls
from tests.runs.importing.published_cases import published_case
from tests.runs.importing.sample_logs import Read, read
from workers.records import Population as PopulationRecord

NAMESPACE = (
    "Namespace(task='countdown', model_name='some/model', sigma=0.001, population_size=2, n_iterations={n}, seed=42)\n"
)


def es_at_scale(step: int, mean: str = "0.14", epoch: str = "") -> str:
    """Return the lines of an iteration, with a Ray worker's line between them."""
    return f"""\
=== Epoch 1; Iteration {step} ===
(Worker pid=7) Weights changed with: sign=1.0; scale=0.001. [repeated 4x across cluster]
Mean reward: {mean}, std: 0.05, min: 0.09, max: 0.19
Seed 1063938749; avg reward: 0.09; normalized reward: -1.0
Seed 965274705; avg reward: 0.19; normalized reward: 1.0
=== {epoch}Iteration {step} finished in 49.5{"" if epoch else "s"} ===
"""


def populations(result: Read) -> list[tuple[int, list[tuple[int, float, float | None]]]]:
    records = [entry.record for entry in result.entries if isinstance(entry.record, PopulationRecord)]
    return [(record.step, [(member.seed, member.reward, member.z) for member in record.members]) for record in records]


@each_case("epoch", ["", "Epoch 1; "], ids=["with seconds", "without"])
def test_es_at_scale_log_has_rewards_members_and_config(epoch: str) -> None:
    result = read(NAMESPACE.format(n=2) + es_at_scale(1, epoch=epoch) + es_at_scale(2, "0.16", epoch))
    (run,) = result.runs
    assert (run.kind, run.method, run.seed, run.state) == ("es-at-scale log", "es", 42, "succeeded")
    assert (run.settings["sigma"], run.settings["population"], run.seconds) == (0.001, 2, 99.0)
    assert result.points("train/reward/mean") == [(0, 1, 0.14), (0, 2, 0.16)]
    assert result.values("train/reward/std") == [0.05, 0.05] and result.values("es/dead") == [0.0, 0.0]
    assert populations(result) == [(step, [(1063938749, 0.09, -1.0), (965274705, 0.19, 1.0)]) for step in (1, 2)]
    assert not result.report.has_problems


@each_case(
    "steps, planned, state",
    [((0, 1, 2), 3, "succeeded"), ((0, 1), 3, "lost"), ((1, 2, 3), 3, "succeeded"), ((1, 2), 3, "lost")],
)
def test_es_at_scale_run_has_ended_after_its_last_iteration(steps: tuple[int, ...], planned: int, state: str) -> None:
    result = read(NAMESPACE.format(n=planned) + "".join(map(es_at_scale, steps)))
    assert (result.runs[0].state, [step for _, step, _ in result.points("train/reward/mean")]) == (state, [*steps])


def test_es_at_scale_evaluations_are_of_the_model_before_and_after() -> None:
    evaluation = "countdown_eval -- eval pass@1 (shaped): 0.25 -- answer_acc (0/1): 0.125 -- -- gate: 0.5\n"
    result = read(evaluation + es_at_scale(1) + evaluation.replace("0.25", "0.5") + "-- Training completed! --\n")
    assert result.points("reward/mean") == [(0, 0, 0.25), (0, 1, 0.5)]
    assert result.points("eval/countdown_eval/answer_acc") == [(0, 0, 0.125), (0, 1, 0.125)]
    assert result.runs[0].state == "succeeded"
    two = read(es_at_scale(1) + evaluation + evaluation.replace("countdown", "math"))
    assert two.points("reward/mean") == [] and two.points("eval/math_eval/pass@1") == [(0, 1, 0.25)]


def test_es_at_scale_restart_repeats_steps_and_a_finished_run_is_followed_by_another() -> None:
    restarted = read(es_at_scale(1) + es_at_scale(2) + es_at_scale(1))
    assert restarted.points("train/reward/mean") == [(0, 1, 0.14), (0, 2, 0.14), (1, 1, 0.14)]
    two = read(es_at_scale(1) + es_at_scale(2) + "-- Training completed! --\n" + es_at_scale(1))
    assert [run.state for run in two.runs] == ["succeeded", "lost"]


def test_es_at_scale_log_that_is_cut_loses_nothing_silently() -> None:
    whole = NAMESPACE.format(n=9) + es_at_scale(1)
    cut = read(whole[: whole.index("; normalized reward: 1.0") + 20])
    assert cut.remarks == [
        "line 6: the member of seed 965274705 is cut off: omitted", "iteration 1: 1 of its 2 members are in the file",
    ]  # fmt: skip
    assert [len(members) for _, members in populations(cut)] == [1]
    headless = read(es_at_scale(4).partition("\n")[2] + es_at_scale(5))
    assert headless.points("train/reward/mean") == [(0, 4, 0.14), (0, 5, 0.14)]
    assert [len(members) for _, members in populations(headless)] == [2, 2] and headless.remarks == []
    both_cut = read(es_at_scale(4).partition("\n")[2].rpartition("===")[0].rpartition("===")[0])
    assert both_cut.remarks == ["line 2: states no iteration, nor do the lines around it: omitted"]
    broken = read(es_at_scale(1).replace("reward: 0.09;", "reward: none;").replace("std: 0.05", "std: ?"))
    assert [str(cell) for cell in broken.report.refused_cells] == [
        "line 3, column std: '?' is not a number", "line 4, column avg reward: 'none' is not a number",
    ]  # fmt: skip
    assert broken.values("train/reward/max") == [0.19]


VERL = """\
+ python3 -m verl.trainer.main_ppo algorithm.adv_estimator=grpo data.max_response_length=256
+ actor_rollout_ref.model.path=a/b
(TaskRunner pid=7) Total training steps: {total}
\x1b[36m(TaskRunner pid=7)\x1b[0m step:0 - val-core/gsm8k/reward/mean@1:0.25
\x1b[36m(TaskRunner pid=7)\x1b[0m step:1 - critic/score/mean:0.5 - actor/kl_loss:np.float64(0.001) - timing_s/step:17.5
Training Progress:  50%|#####     | 1/{total} [00:17<00:17, 17.5s/it]
step:2 - critic/score/mean:0.625 - actor/kl_loss:1e-05 - timing_s/step:17.25
"""


def test_verl_log_has_its_own_names_and_ours() -> None:
    result = read(VERL.format(total=2))
    (run,) = result.runs
    assert (run.kind, run.method, run.state, run.seconds) == ("verl log", "grpo", "succeeded", 34.75)
    assert (run.settings["model"], run.settings["longest"]) == ("a/b", 256)
    assert result.points("critic/score/mean") == result.points("train/reward/mean") == [(0, 1, 0.5), (0, 2, 0.625)]
    assert result.points("val-core/gsm8k/reward/mean@1") == result.points("reward/mean") == [(0, 0, 0.25)]
    assert (result.values("actor/kl_loss"), result.values("time/step_seconds")) == ([0.001, 1e-05], [17.5, 17.25])
    assert not result.report.has_problems


def test_verl_run_that_is_cut_is_lost_and_its_last_number_is_left_out() -> None:
    result = read(VERL.format(total=9) + "step:3 - critic/score/mean:0.7 - actor/kl_loss:0.")
    assert (result.runs[0].state, result.runs[0].reason) == ("lost", "Its log ends at step 3 of 9 and states no reason")
    assert result.values("critic/score/mean") == [0.5, 0.625, 0.7] and result.values("actor/kl_loss") == [0.001, 1e-05]
    assert result.remarks == ["line 8: step 3 is cut off: its last number is omitted"]
    failed = read(VERL.format(total=9).replace("algorithm.adv_estimator=grpo", "") + "torch.OutOfMemoryError: CUDA\n")
    assert (failed.runs[0].state, failed.runs[0].method) == ("failed", "")


def test_verl_line_that_ray_repeats_retains_its_last_number() -> None:
    repeated = VERL.format(total=2).replace("timing_s/step:17.5\n", "timing_s/step:17.5 [repeated 3x across cluster]\n")
    result = read(repeated)
    assert (result.values("time/step_seconds"), result.cells) == ([17.5, 17.25], [])


EGGROLL = """\
--- Arguments ---
  model_name: Qwen/Qwen2-0.5B
  sigma: 0.001
  population_size: 128
  num_iterations: 2
  base_seed: 7
-----------------

======= ES Step 0 / 2 =======
EVAL aime24: Mean fitness: 0.1234
----FITNESS: 0.1000, NORMALIZED FITNESS: 0.0100
Mean fitness: 0.1234, min: 0.0000, max: 1.0000, std_normalized_fitness: 0.0120, pass@k: 0.2, distinct_answers: -1.0000
  mean_length: 120.5000
reward/frac_correct: 0.5000, reward/frac_format_ok: 1.0000
DIAG: frac_correct/cos_with_fitness=0.100, pair_identical_rate=0.500
TIMES: total: 12.5s (or 12.000000001s),  LoRA gen: 0.1000s, vLLM+Score: 10.0000s
======= ES Step 0 finished =======
======= ES Step 1 / 2 =======
Mean fitness: 0.2500, min: 0.0000, max: 1.0000, std_normalized_fitness: 0.0000, pass@k: 0.2, distinct_answers: -1.0000
"""


def test_eggroll_vllm_log_has_fitness_times_and_config() -> None:
    result = read(EGGROLL)
    (run,) = result.runs
    assert (run.kind, run.method, run.seed, run.settings["population"]) == ("eggroll-vllm log", "es", 7, 128)
    assert result.points("train/reward/mean") == [(0, 0, 0.1234), (0, 1, 0.25)]
    assert (result.values("train/reward/max"), result.values("es/dead")) == ([1.0, 1.0], [0.0, 1.0])
    assert (result.values("eval/aime24/mean_fitness"), result.values("train/mean_length")) == ([0.1234], [120.5])
    assert (result.values("time/step_seconds"), result.values("time/lora_gen")) == ([12.5], [0.1])
    assert (result.values("train/reward/frac_correct"), result.values("train/reward/frac_format_ok")) == ([0.5], [1.0])
    assert result.values("train/diag/pair_identical_rate") == [0.5] and not result.values("train/distinct_answers")
    assert (run.state, run.reason) == ("lost", "Its log ends at step 1 of 2 and states no reason")
    assert read(EGGROLL.partition("======= ES Step")[2].partition("\n")[2].partition("======= ES")[0]).remarks == [
        "line 3: its fitness is outside of a step: omitted"
    ]
    assert read(EGGROLL + "======= ES Step 1 finished =======\n").runs[0].state == "succeeded"


HYPERSCALE = """\
full number of generations is 1024
Run name fastzero_eggroll_full_lr=1.0_sigma=1.00e-03_bs=1024
\r  0%|          | 0/2 [00:00<?, ?it/s]VALIDATION
VALIDATION SCORE= 0.25
Mean fitness: 0.125; std fitness: 0.33; max fitness: 1.0; min fitness: 0.0; median fitness: 0.5
Stats:
	avg_fitness: 0.125
	token_gen_time: 10.5
\r 50%|#####     | 1/2 [00:10<00:10, 10.0s/it]Mean fitness: 0.25; std fitness: 0.0; max fitness: 0.25; min fitness: 0.25
"""


def test_hyperscale_es_epochs_are_counted_and_that_is_reported() -> None:
    result = read(HYPERSCALE)
    (run,) = result.runs
    assert (run.kind, run.method, run.settings["sigma"], run.state) == ("HyperscaleES log", "es", 0.001, "succeeded")
    assert result.points("train/reward/mean") == [(0, 0, 0.125), (0, 1, 0.25)]
    assert result.points("reward/mean") == [(0, 0, 0.25)]
    assert (result.values("train/token_gen_time"), result.values("es/dead")) == ([10.5], [0.0, 1.0])
    assert result.report.facts == ["the log states no epochs: HyperscaleES' lines are counted from 0"]
    assert not result.report.has_problems


@pytest.mark.usefixtures("runs_dir")
def test_population_of_a_log_is_saved_and_a_longer_log_replaces_it(ada: User, tmp_path: Path) -> None:
    def import_log(log: str) -> Any:
        (tmp_path / "run.log").write_text(log)
        out = StringIO()
        call_command("import", str(tmp_path / "run.log"), "--json", stdout=out)
        return json.loads(out.getvalue())

    log = NAMESPACE.format(n=2) + es_at_scale(1)
    upload = SimpleUploadedFile("run.log", log.encode())
    assert calls(ada).post("/api/v1/imports", {"files": [upload]}).json()["files"][0]["kinds"] == ["es-at-scale log"]
    assert Population.objects.count() == 1
    assert len(import_log(log + es_at_scale(2))["files"][0]["went_on"]) == 1
    run = Run.objects.get()
    rows = Population.objects.filter(run=run).order_by("step")
    assert [(row.step, [member["seed"] for member in row.members]) for row in rows] == [
        (1, [1063938749, 965274705]), (2, [1063938749, 965274705]),
    ]  # fmt: skip
    assert (run.config["es"]["sigma"], run.config["es"]["population"], run.config["seed"]) == (0.001, 2, 42)
    listed = calls(ada).get(f"/api/v1/runs/{run.uid}/populations").json()["items"]
    assert [population["members"][0]["z"] for population in listed] == [-1.0, -1.0]
    (curve,) = metrics.read([run], ("train/reward/mean",))
    assert (curve.x.tolist(), curve.y.tolist()) == ([1, 2], [0.14, 0.14])


def test_published_es_at_scale_log_is_read_whole() -> None:
    result = read(published_case("es-at-scale-log/run.log").read_bytes())
    (run,) = result.runs
    assert (run.method, run.seed, run.settings["sigma"], run.settings["population"]) == ("es", 42, 0.001, 4)
    assert result.points("train/reward/mean") == [(0, 0, 0.1400175), (0, 1, 0.1324), (0, 2, 0.1639075)]
    assert result.values("train/reward/min") == [0.09612, 0.0834, 0.10745]
    assert [len(members) for _, members in populations(result)] == [4, 4, 4]
    assert populations(result)[0][1][0] == (1063938749, 0.09612, -1.1807184130260546)
    assert not result.report.has_problems
