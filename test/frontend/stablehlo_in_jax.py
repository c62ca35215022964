"""StableHLO text in JAX: compiled as it is, and operation by operation through jax.lax, so that jax.grad goes through it."""
import jax
import jax.numpy as jnp
import numpy
from jax import lax
from jax._src.interpreters import mlir
from jaxlib import xla_client
from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo


def compile_and_run(text, arguments):
    """The results of @main as XLA compiles the text."""
    device = jax.devices()[0]
    program = device.client.compile_and_load(text.encode(), xla_client.DeviceList((device,)), xla_client.CompileOptions())
    results = program.execute_sharded([jax.device_put(argument, device) for argument in arguments])
    return [numpy.asarray(result[0]) for result in results.disassemble_into_single_device_arrays()]


ELEMENTWISE = {
    "abs": jnp.abs, "add": lax.add, "and": lax.bitwise_and, "cosine": lax.cos, "divide": lax.div, "exponential": lax.exp, "log": lax.log,
    "logistic": lax.logistic, "maximum": lax.max, "multiply": lax.mul, "negate": lax.neg, "rsqrt": lax.rsqrt, "sine": lax.sin,
    "subtract": lax.sub, "tanh": lax.tanh, "erf": lax.erf,
}
COMPARE = {"EQ": lax.eq, "NE": lax.ne, "GE": lax.ge, "GT": lax.gt, "LE": lax.le, "LT": lax.lt}
REDUCE = {"add": jnp.sum, "maximum": jnp.max}


class Evaluator:
    """Calls functions of a module on arrays."""

    def __init__(self, text):
        self.context = mlir.make_ir_context()
        with self.context:
            self.module = ir.Module.parse(text)
            self.module.operation.verify()
        self.functions = {ir.StringAttr(op.attributes["sym_name"]).value: op for op in self.module.body.operations}

    def call(self, name, arguments):
        return self.block(self.functions[name].regions[0].blocks[0], arguments, {})

    def block(self, block, arguments, outer):
        values = dict(outer)
        values.update(zip(block.arguments, arguments))
        for op in block.operations:
            operands = [values[operand] for operand in op.operands]
            if op.name.endswith("return"):
                return operands
            results = self.operation(op, operands, values)
            values.update(zip(op.results, results if isinstance(results, (list, tuple)) else [results]))
        raise AssertionError("a block without a terminator")

    def operation(self, op, operands, values):
        name = op.name.split(".")[1]
        if name in ELEMENTWISE:
            return ELEMENTWISE[name](*operands)
        handler = getattr(self, "op_" + name, None)
        if handler is None:
            raise NotImplementedError(op.name)
        return handler(op, operands, values)

    @staticmethod
    def dtype(op):
        return {"f32": jnp.float32, "i32": jnp.int32, "i1": jnp.bool_, "bf16": jnp.bfloat16}[str(ir.RankedTensorType(op.results[0].type).element_type)]

    @staticmethod
    def shape(op):
        return tuple(ir.RankedTensorType(op.results[0].type).shape)

    @staticmethod
    def dims(op, name):
        return tuple(ir.DenseI64ArrayAttr(op.attributes[name]))

    def op_call(self, op, operands, values):
        return self.call(ir.FlatSymbolRefAttr(op.attributes["callee"]).value, operands)

    def op_while(self, op, operands, values):
        condition, body = (region.blocks[0] for region in op.regions)
        while bool(self.block(condition, operands, values)[0]):
            operands = self.block(body, operands, values)
        return operands

    def op_constant(self, op, operands, values):
        return jnp.asarray(numpy.array(ir.DenseElementsAttr(op.attributes["value"])), self.dtype(op)).reshape(self.shape(op))

    def op_iota(self, op, operands, values):
        return lax.broadcasted_iota(self.dtype(op), self.shape(op), ir.IntegerAttr(op.attributes["iota_dimension"]).value)

    def op_broadcast_in_dim(self, op, operands, values):
        return lax.broadcast_in_dim(operands[0], self.shape(op), self.dims(op, "broadcast_dimensions"))

    def op_convert(self, op, operands, values):
        return lax.convert_element_type(operands[0], self.dtype(op))

    def op_reshape(self, op, operands, values):
        return lax.reshape(operands[0], self.shape(op))

    def op_transpose(self, op, operands, values):
        return lax.transpose(operands[0], self.dims(op, "permutation"))

    def op_slice(self, op, operands, values):
        return lax.slice(operands[0], self.dims(op, "start_indices"), self.dims(op, "limit_indices"), self.dims(op, "strides"))

    def op_dynamic_slice(self, op, operands, values):
        return lax.dynamic_slice(operands[0], operands[1:], self.dims(op, "slice_sizes"))

    def op_concatenate(self, op, operands, values):
        return lax.concatenate(operands, ir.IntegerAttr(op.attributes["dimension"]).value)

    def op_compare(self, op, operands, values):
        return COMPARE[stablehlo.ComparisonDirectionAttr(op.attributes["comparison_direction"]).value](*operands)

    def op_select(self, op, operands, values):
        return lax.select(*operands)

    def op_top_k(self, op, operands, values):
        return lax.top_k(operands[0], ir.IntegerAttr(op.attributes["k"]).value)

    def op_reduce(self, op, operands, values):
        body = op.regions[0].blocks[0].operations[0].name.split(".")[1]
        return REDUCE[body](operands[0], axis=self.dims(op, "dimensions"))

    def op_dot_general(self, op, operands, values):
        dims = stablehlo.DotDimensionNumbers(op.attributes["dot_dimension_numbers"])
        contracting = (dims.lhs_contracting_dimensions, dims.rhs_contracting_dimensions)
        batch = (dims.lhs_batching_dimensions, dims.rhs_batching_dimensions)
        return lax.dot_general(*operands, (contracting, batch), preferred_element_type=self.dtype(op))

    def op_gather(self, op, operands, values):
        dims = stablehlo.GatherDimensionNumbers(op.attributes["dimension_numbers"])
        indices = operands[1]
        assert dims.index_vector_dim == indices.ndim - 1
        numbers = lax.GatherDimensionNumbers(
            tuple(dims.offset_dims), tuple(dims.collapsed_slice_dims), tuple(dims.start_index_map),
            tuple(dims.operand_batching_dims), tuple(dims.start_indices_batching_dims))
        return lax.gather(operands[0], indices, numbers, self.dims(op, "slice_sizes"), mode=lax.GatherScatterMode.CLIP)


def loss_and_gradients(text, parameters, batch):
    """The first result of @main(parameters..., batch...) and its gradients, by jax.grad."""
    evaluator = Evaluator(text)
    with evaluator.context:
        function = lambda *arguments: evaluator.call("main", [*arguments, *batch])[0]
        loss, gradients = jax.value_and_grad(function, argnums=tuple(range(len(parameters))))(*parameters)
    return float(loss), [numpy.asarray(gradient) for gradient in gradients]
