"""RunConfig and what reads it: the plain data that goes out over the wall. Standard library only."""

from workers.config.decode import ConfigError, Problem, decode, encode
from workers.config.es import BaseLoraConfig, EsConfig, LoraConfig
from workers.config.es_backends import AdapterServerConfig, VllmConfig
from workers.config.fields import Bounds, ConfigField, config_fields
from workers.config.grpo import GrpoConfig
from workers.config.presets import Preset, PresetNeeds, current_name, preset, presets
from workers.config.run import (
    ComputeConfig,
    EvaluationConfig,
    ModelConfig,
    RunConfig,
    TrackingConfig,
)
from workers.config.scorer import ScorerConfig
from workers.config.tasks import (
    ChoiceOptions,
    ConcisenessOptions,
    CountdownOptions,
    MathOptions,
    OwnOptions,
    SafetyOptions,
    TaskConfig,
)

__all__ = [
    "AdapterServerConfig",
    "BaseLoraConfig",
    "Bounds",
    "ChoiceOptions",
    "ComputeConfig",
    "ConcisenessOptions",
    "ConfigError",
    "ConfigField",
    "CountdownOptions",
    "EsConfig",
    "EvaluationConfig",
    "GrpoConfig",
    "LoraConfig",
    "MathOptions",
    "ModelConfig",
    "OwnOptions",
    "Preset",
    "PresetNeeds",
    "Problem",
    "RunConfig",
    "SafetyOptions",
    "ScorerConfig",
    "TaskConfig",
    "TrackingConfig",
    "VllmConfig",
    "config_fields",
    "current_name",
    "decode",
    "encode",
    "preset",
    "presets",
]
