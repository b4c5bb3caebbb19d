"""jax_rows.py ROW[,ROW...] [--seconds S] [--graph]: JAX loops, one line each, as torch_rows.py prints them.
--graph says unavailable: XLA decides by itself what it puts into CUDA graphs."""
import os
import sys

os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
import jax
import jax.numpy as jnp
import numpy as np

import loop


def jax_mlp(o):
    """A jitted training step: one executable, many kernels."""
    keys = jax.random.split(jax.random.PRNGKey(1), 9)
    weights = [jax.random.normal(k, (256, 256)) * 0.05 for k in keys[:8]]
    x = jax.random.normal(keys[8], (64, 256))

    def loss(ws, x):
        for w in ws:
            x = jnp.tanh(x @ w)
        return jnp.mean(x * x)

    @jax.jit
    def update(ws, x):
        value, gradient = jax.value_and_grad(loss)(ws, x)
        return [w - 0.01 * g for w, g in zip(ws, gradient)], value

    state = {"weights": weights}

    def step():
        state["weights"], state["loss"] = update(state["weights"], x)

    return loop.Row(step, lambda: [np.asarray(state["loss"])], lambda: jax.block_until_ready(state["weights"]))


def jax_small_ops(o):
    """Operations dispatched one by one."""
    state = {"x": jnp.linspace(0.0, 1.0, 4096)}

    def step():
        x = state["x"]
        for _ in range(20):
            x = x * 0.99 + 0.01
            x = jnp.roll(x, 1)
        state["x"] = x

    return loop.Row(step, lambda: [np.asarray(state["x"])], lambda: jax.block_until_ready(state["x"]))


if __name__ == "__main__":
    sys.exit(loop.main({"jax_mlp": jax_mlp, "jax_small_ops": jax_small_ops}, __doc__))
