"""The REST API: launch, watch and read runs, and push their records. `esweb.api` mounts it at /api/v1/."""

from __future__ import annotations

import runs.accounts.api
import runs.clusters.api
import runs.experiments.api
import runs.experiments.run_api
import runs.experiments.saved_views.api
import runs.exporting.api
import runs.flags.api
import runs.importing.api
import runs.importing.server_folders.api
import runs.ingest.api
import runs.labels.api
import runs.launching.api
import runs.launching.budgets.api
import runs.launching.external.api
import runs.launching.gpu_memory.api
import runs.launching.preflight.api
import runs.launching.presets.api
import runs.launching.queue.api
import runs.launching.rebuilds.api
import runs.launching.storage.api
import runs.launching.sweeps.api
import runs.probes.api
import runs.responses.api
import runs.responses.scoring.api
import runs.reward_audits.api
import runs.run_page.api
import runs.run_page.log.api
import runs.run_page.reward_and_gold.api
import runs.service_registry.api  # noqa: F401  (each import adds its operations)
