"""A bundle of LANES numbers that numba keeps in vector registers: `Lanes`, with arithmetic, comparison and selection.

The compiler vectorises long loops by itself, but unrolls short ones into scalar code; the kernels here work on short,
fixed bundles, so they say what they mean: `load`, `store`, `splat`, `+ - *`, `root`, `smaller`, `larger`, `keep_if_not_above`
and `any_below`. LLVM maps them to whatever vector unit the machine has.
"""

from __future__ import annotations

import operator

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.core.extending import intrinsic, models, overload, register_model

LANES = 16


class Lanes(types.Type):
    def __init__(self, dtype):
        self.dtype = dtype
        super().__init__(name=f"Lanes({dtype})")


@register_model(Lanes)
class LanesModel(models.PrimitiveModel):
    def __init__(self, dmm, fe_type):
        super().__init__(dmm, fe_type, ir.VectorType(_scalar(fe_type.dtype), LANES))


def _scalar(dtype):
    return ir.FloatType() if dtype == types.float32 else ir.DoubleType()


def _intrinsic_name(base, dtype):
    return f"llvm.{base}.v{LANES}f{dtype.bitwidth}"


def _row_pointer(context, builder, array_type, array, row):
    data = cgutils.create_struct_proxy(array_type)(context, builder, array).data
    offset = builder.mul(row, ir.Constant(row.type, LANES))
    vector = ir.VectorType(_scalar(array_type.dtype), LANES)
    return builder.bitcast(builder.gep(data, [offset]), vector.as_pointer())


@intrinsic
def load(typing_context, array, row):
    """Row `row` of a contiguous (n, LANES) array."""

    def generate(context, builder, signature, arguments):
        wide_row = context.cast(builder, arguments[1], signature.args[1], types.intp)
        pointer = _row_pointer(context, builder, signature.args[0], arguments[0], wide_row)
        return builder.load(pointer, align=array.dtype.bitwidth // 8)

    return Lanes(array.dtype)(array, row), generate


@intrinsic
def store(typing_context, array, row, value):
    """Write a bundle into row `row` of a contiguous (n, LANES) array."""

    def generate(context, builder, signature, arguments):
        wide_row = context.cast(builder, arguments[1], signature.args[1], types.intp)
        pointer = _row_pointer(context, builder, signature.args[0], arguments[0], wide_row)
        builder.store(arguments[2], pointer, align=array.dtype.bitwidth // 8)
        return context.get_dummy_value()

    return types.void(array, row, value), generate


@intrinsic
def splat(typing_context, number):
    """The same number in every lane."""

    def generate(context, builder, signature, arguments):
        vector = ir.VectorType(arguments[0].type, LANES)
        single = builder.insert_element(ir.Constant(vector, ir.Undefined), arguments[0], ir.Constant(ir.IntType(32), 0))
        zeros = ir.Constant(ir.VectorType(ir.IntType(32), LANES), [0] * LANES)
        return builder.shuffle_vector(single, ir.Constant(vector, ir.Undefined), zeros)

    return Lanes(number)(number), generate


def _binary(build):
    @intrinsic
    def operation(typing_context, left, right):
        def generate(context, builder, signature, arguments):
            return build(builder, *arguments)

        return left(left, right), generate

    return operation


_add = _binary(lambda builder, left, right: builder.fadd(left, right, flags=["contract", "nsz"]))
_subtract = _binary(lambda builder, left, right: builder.fsub(left, right, flags=["contract", "nsz"]))
_multiply = _binary(lambda builder, left, right: builder.fmul(left, right, flags=["contract", "nsz"]))
# where a comparison meets NaN it is false, so the second of the two is taken
smaller = _binary(lambda builder, left, right: builder.select(builder.fcmp_ordered("<", left, right), left, right))
larger = _binary(lambda builder, left, right: builder.select(builder.fcmp_ordered(">", left, right), left, right))


@overload(operator.add)
def _lanes_add(left, right):
    if isinstance(left, Lanes):
        return lambda left, right: _add(left, right)
    return None


@overload(operator.sub)
def _lanes_subtract(left, right):
    if isinstance(left, Lanes):
        return lambda left, right: _subtract(left, right)
    return None


@overload(operator.mul)
def _lanes_multiply(left, right):
    if isinstance(left, Lanes):
        return lambda left, right: _multiply(left, right)
    return None


@intrinsic
def root(typing_context, value):
    """Square root; NaN where the value is negative."""

    def generate(context, builder, signature, arguments):
        kind = arguments[0].type
        function = cgutils.get_or_insert_function(
            builder.module, ir.FunctionType(kind, [kind]), _intrinsic_name("sqrt", value.dtype)
        )
        return builder.call(function, arguments)

    return value(value), generate


@intrinsic
def keep_if_not_above(typing_context, value, low, high, otherwise):
    """`value` in the lanes where low ≤ high, `otherwise` elsewhere, and wherever low or high is NaN."""

    def generate(context, builder, signature, arguments):
        kept, small, large, other = arguments
        return builder.select(builder.fcmp_ordered("<=", small, large), kept, other)

    return value(value, low, high, otherwise), generate


@intrinsic
def any_below(typing_context, left, right):
    """True if left < right in any lane."""

    def generate(context, builder, signature, arguments):
        below = builder.bitcast(builder.fcmp_ordered("<", *arguments), ir.IntType(LANES))
        return builder.icmp_unsigned("!=", below, ir.Constant(ir.IntType(LANES), 0))

    return types.boolean(left, right), generate
