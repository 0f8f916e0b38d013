"""Records the copies that a model's own `load_weights` makes, without making them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from workers.engines.es.vllm.copy_plan import CopyPlan, Piece, Region, Shapes, UntrainableModel, check_parameters

aten = torch.ops.aten
TRANSFORMS = "is changed by vLLM while it is loaded"
SET_VALUES = (aten.fill_.Scalar, aten.fill_.Tensor, aten.zero_.default)
COPIES = (aten.clone.default, aten._to_copy.default)


def record_plan(model: Any, shapes: Shapes, names: tuple[str, ...], dtype: torch.dtype) -> CopyPlan:
    """Return the plan by which `model.load_weights` stores the tensors of the files.

    `shapes`: those of the files. `names`: the tensors that are trained; others in the files must be left out by the
    loader too, as a tied head is. Raise UntrainableModel if the loader does anything but copy.
    """
    for name in names:
        if name not in shapes:
            raise UntrainableModel(f"the tensor {name}", "is not in the model's files")
    # Memory that is never touched takes none.
    sources = {name: torch.empty(shape, dtype=dtype) for name, shape in shapes.items()}
    parameters = {name: parameter for name, parameter in model.named_parameters() if parameter.numel()}
    recorder = _CopyRecorder(sources, parameters)
    _run_loader(model, recorder, sources)
    for name in shapes:
        if name in names and name not in recorder.loaded:
            raise UntrainableModel(f"the tensor {name}", "is not loaded by vLLM")
        if name not in names and name in recorder.loaded:
            raise UntrainableModel(f"the tensor {name}", "is loaded by vLLM, and is no parameter of this model here")
    plan = CopyPlan(
        {name: tuple(shapes[name]) for name in names},
        {name: tuple(recorder.pieces[name]) for name in names},
        tuple(recorder.zeros),
    )
    check_parameters(plan, {name: parameter.numel() for name, parameter in parameters.items()})
    return plan


def _run_loader(model: Any, recorder: _CopyRecorder, sources: Mapping[str, Tensor]) -> None:
    def stream() -> Iterator[tuple[str, Tensor]]:
        for name, tensor in sources.items():
            recorder.current = name
            yield name, tensor

    try:
        with torch.no_grad(), recorder:
            model.load_weights(stream())
    except UntrainableModel:
        raise
    except Exception as error:
        # A loader refuses unknown names and shapes by errors of any class; none is mended by another start.
        reason = f"is refused by vLLM's loader ({type(error).__name__}: {error})"
        raise UntrainableModel(f"the tensor {recorder.current}", reason) from error


class _CopyRecorder(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Keeps writes from the parameters, and records them. `current`: the tensor that the loader took last."""

    def __init__(self, sources: Mapping[str, Tensor], parameters: Mapping[str, Tensor]) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self._sources, self._parameters = sources, parameters
        self._source_names = {_memory(tensor): name for name, tensor in sources.items()}
        self._parameter_names: dict[int, str] = {}
        for name, parameter in parameters.items():
            self._parameter_names.setdefault(_memory(parameter), name)
        self._temporaries: dict[int, tuple[str, Tensor]] = {}
        self.pieces: dict[str, list[Piece]] = {name: [] for name in sources}
        self.zeros: list[tuple[str, Region]] = []
        self.loaded: set[str] = set()
        self.current = "(none)"

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func in COPIES and _memory(args[0]) in self._source_names:
            # The copy has the same values, so the original may stand for it: its views stay known.
            return aten.alias.default(args[0])
        if args and isinstance(args[0], Tensor) and _memory(args[0]) in self._parameter_names:
            if func is aten.copy_.default:
                self._record_copy(args[0], args[1])
                return args[0]
            if func in SET_VALUES:
                self._record_padding(args[0], args[1] if len(args) > 1 else 0)
                return args[0]
        self._refuse_writes(func, args, kwargs or {})
        return self._run(func, args, kwargs or {})

    def _record_copy(self, target: Tensor, source: Tensor) -> None:
        name = self._source_names.get(_memory(source))
        if name is None:
            changed = self._temporaries.get(_memory(source), (self.current,))[0]
            raise UntrainableModel(f"the tensor {changed}", TRANSFORMS)
        parameter = self._parameter_names[_memory(target)]
        piece = Piece(
            Region.within(source, self._sources[name]), parameter, Region.within(target, self._parameters[parameter])
        )
        if source.shape != target.shape or piece.source.is_repeating():
            raise UntrainableModel(f"the tensor {name}", TRANSFORMS)
        # The share of a rank may be empty.
        self.loaded.add(name)
        if source.numel():
            self.pieces[name].append(piece)

    def _record_padding(self, target: Tensor, value: Any) -> None:
        if isinstance(value, Tensor) or value != 0:
            raise UntrainableModel(f"the tensor {self.current}", TRANSFORMS)
        if target.numel():
            parameter = self._parameter_names[_memory(target)]
            self.zeros.append((parameter, Region.within(target, self._parameters[parameter])))

    def _refuse_writes(self, func: Any, args: Any, kwargs: Any) -> None:
        for argument, value in zip(func._schema.arguments, args, strict=False):
            if argument.alias_info is None or not argument.alias_info.is_write or not isinstance(value, Tensor):
                continue
            if _memory(value) in self._parameter_names or _memory(value) in self._source_names:
                raise UntrainableModel(f"the tensor {self._name_of(args, kwargs) or self.current}", TRANSFORMS)

    def _run(self, func: Callable[..., Any], args: Any, kwargs: Any) -> Any:
        """Run an operation, and remember the memory that its results take as made of a canonical tensor."""
        name = self._name_of(args, kwargs)
        result = func(*args, **kwargs)
        if name is None:
            return result
        for leaf in (*tree_leaves(result), *args):
            if not isinstance(leaf, Tensor):
                if leaf is result:
                    # The loader reads a value, as `item` does: what it does with it is unknown.
                    raise UntrainableModel(f"the tensor {name}", TRANSFORMS)
            elif _memory(leaf) not in self._source_names and _memory(leaf) not in self._parameter_names:
                self._temporaries.setdefault(_memory(leaf), (name, leaf))
        return result

    def _name_of(self, args: Any, kwargs: Any) -> str | None:
        """Return the canonical tensor that an operation reads, itself or what was made of it."""
        for leaf in tree_leaves((args, kwargs)):
            if isinstance(leaf, Tensor):
                if _memory(leaf) in self._source_names:
                    return self._source_names[_memory(leaf)]
                if _memory(leaf) in self._temporaries:
                    return self._temporaries[_memory(leaf)][0]
        return None


def _memory(tensor: Tensor) -> int:
    """Return what tensors that share memory have in common."""
    return int(tensor.untyped_storage()._cdata)
