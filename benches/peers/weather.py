"""The training task of `fitzroy bench weather` in JAX and in PyTorch: same graph, parameters and data.

    python weather.py jax   --latent 64 --batch 4 --steps 12
    python weather.py torch --latent 64 --batch 4 --steps 12
    python weather.py jax --golden ../../crates/weather/tests/golden/trajectory.json

Prints JSON: losses before each step, seconds of each step. `--projected` multiplies senders and receivers
by their part of the first edge layer before gathering them, so that algebra and kernels can be told apart.
"""

import argparse
import json
import math
import os
import time

import numpy as np


def stream(seed, n):
    """Upper 24 bits of splitmix64, in (-1, 1)."""
    with np.errstate(over="ignore"):
        z = (np.uint64(seed) << np.uint64(32) | np.arange(n, dtype=np.uint64)) + np.uint64(1)
        z = z * np.uint64(0x9E3779B97F4A7C15)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        z = z ^ (z >> np.uint64(31))
    return (z >> np.uint64(40)).astype(np.float64) / 2**23 - 1.0


class Task:
    def __init__(self, latent, side, layers, batch, channels):
        self.latent, self.side, self.layers, self.batch, self.channels = latent, side, layers, batch, channels
        half = side // 2
        grid = lambda y, x: (y % side) * side + x % side
        mesh = lambda y, x: (y % half) * half + x % half
        up, within, down = [], [], []
        for y in range(half):
            for x in range(half):
                up += [(mesh(y, x), grid(2 * y + dy, 2 * x + dx)) for dy in range(-1, 3) for dx in range(-1, 3)]
                within += [
                    (mesh(y, x), mesh(y + dy, x + dx)) for dy in (-1, 0, 1) for dx in (-1, 0, 1) if (dy, dx) != (0, 0)
                ]
        for y in range(side):
            for x in range(side):
                down += [(grid(y, x), mesh(y // 2 + dy, x // 2 + dx)) for dy in (0, 1) for dx in (0, 1)]
        self.n = {"grid": side * side, "mesh": half * half}
        self.edges = {}
        for name, pairs, seed in (("up", up, 12), ("mesh", within, 13), ("down", down, 14)):
            pairs = np.array(sorted(pairs), dtype=np.int32)
            features = stream(seed, len(pairs) * 3).astype(np.float32).reshape(-1, 3)
            self.edges[name] = (pairs[:, 1], pairs[:, 0], features)
        self.mesh = stream(11, self.n["mesh"] * 2).astype(np.float32).reshape(-1, 2)
        self.input = stream(15, batch * side * side * channels[0]).astype(np.float32)
        self.input = self.input.reshape(batch, side * side, channels[0])
        self.target = stream(16, batch * side * side * channels[1]).astype(np.float32)
        self.target = self.target.reshape(batch, side * side, channels[1])
        self.parameters = self.make_parameters()

    def blocks(self):
        """Name, inputs and outputs of every perceptron, in the order of Fitzroy's parameters."""
        d = self.latent
        yield "embed.nodes.grid", self.channels[0], d
        yield "embed.nodes.mesh", 2, d
        for name in ("up", "mesh", "down"):
            yield f"embed.edges.{name}", 3, d
        yield "encode.edges.up", 3 * d, d
        yield "encode.nodes.mesh", 2 * d, d
        yield "encode.nodes.grid", d, d
        for k in range(self.layers):
            yield f"layer{k}.edges.mesh", 3 * d, d
            yield f"layer{k}.nodes.mesh", 2 * d, d
        yield "process_to_grid.edges.down", 3 * d, d
        yield "process_to_grid.nodes.grid", 2 * d, d
        yield "decode", d, self.channels[1]

    def make_parameters(self):
        out, number = {}, 0
        for name, k, n in self.blocks():
            for part, shape in (("w0", (k, self.latent)), ("b0", (self.latent,)), ("w1", (self.latent, n)), ("b1", (n,))):
                values = np.zeros(shape)
                if len(shape) == 2:
                    values = math.sqrt(3.0 / shape[0]) * stream(1000 + number, shape[0] * shape[1]).reshape(shape)
                out[f"{name}.{part}"] = values.astype(np.float32)
                number += 1
            if name != "decode":
                out[f"{name}.gamma"] = np.ones(n, np.float32)
                out[f"{name}.beta"] = np.zeros(n, np.float32)
                number += 2
        return out


def rate(t, peak=1e-3, warmup=10, decay=100):
    if t < warmup:
        return peak * t / warmup
    share = min(1.0, (t - warmup) / (decay - warmup))
    return 0.1 * peak + 0.9 * peak * 0.5 * (1 + math.cos(math.pi * share))


def forward(task, p, x, ops, edges, mesh, projected):
    """The network over arrays of either library; `ops` has cat, silu, norm, take, sum_at, broadcast."""

    def mlp(name, *parts):
        """Parts are arrays, or (array, index) to be looked up along axis 1."""
        w = p[f"{name}.w0"]
        looked = any(isinstance(part, tuple) for part in parts)
        if projected and looked:
            h, at = p[f"{name}.b0"], 0
            for part in parts:
                a, index = part if isinstance(part, tuple) else (part, None)
                wide = a @ w[at : at + a.shape[-1]]
                h = h + (wide if index is None else ops.take(wide, index))
                at += a.shape[-1]
        else:
            whole = [ops.take(*part) if isinstance(part, tuple) else part for part in parts]
            whole = ops.broadcast(whole)
            h = (ops.cat(whole) if len(whole) > 1 else whole[0]) @ w + p[f"{name}.b0"]
        out = ops.silu(h) @ p[f"{name}.w1"] + p[f"{name}.b1"]
        if name == "decode":
            return out
        return ops.norm(out) * p[f"{name}.gamma"] + p[f"{name}.beta"]

    grid = mlp("embed.nodes.grid", x)
    node = mlp("embed.nodes.mesh", mesh)[None]
    edge = {name: mlp(f"embed.edges.{name}", features)[None] for name, (_, _, features) in edges.items()}

    def message(stage, name, senders, receivers, n):
        s, r, _ = edges[name]
        m = mlp(f"{stage}.edges.{name}", edge[name], (senders, s), (receivers, r))
        edge[name] = edge[name] + m
        return ops.sum_at(m, r, n)

    total = message("encode", "up", grid, node, task.n["mesh"])
    node, grid = (
        node + mlp("encode.nodes.mesh", node, total),
        grid + mlp("encode.nodes.grid", grid),
    )
    for k in range(task.layers):
        total = message(f"layer{k}", "mesh", node, node, task.n["mesh"])
        node = node + mlp(f"layer{k}.nodes.mesh", node, total)
    total = message("process_to_grid", "down", node, grid, task.n["grid"])
    grid = grid + mlp("process_to_grid.nodes.grid", grid, total)
    return mlp("decode", grid)


def run_jax(task, steps, projected, seconds):
    import jax
    import jax.numpy as jnp

    class ops:
        cat = staticmethod(lambda parts: jnp.concatenate(parts, -1))
        silu = staticmethod(jax.nn.silu)
        take = staticmethod(lambda a, index: a[:, index])

        @staticmethod
        def broadcast(parts):
            n = max(part.shape[0] for part in parts) if parts[0].ndim == 3 else 0
            return [jnp.broadcast_to(part, (n, *part.shape[1:])) for part in parts] if n else parts

        @staticmethod
        def norm(a):
            mean = a.mean(-1, keepdims=True)
            return (a - mean) * jax.lax.rsqrt(((a - mean) ** 2).mean(-1, keepdims=True) + 1e-5)

        @staticmethod
        def sum_at(m, index, n):
            one = lambda a: jax.ops.segment_sum(a, index, n, indices_are_sorted=True)
            return jax.vmap(one)(m)

    edges, mesh = task.edges, task.mesh

    def loss_of(p, x, target):
        return jnp.mean((forward(task, p, x, ops, edges, mesh, projected) - target) ** 2)

    # AdamW with clipping by hand, as optax does it, so that optax is not needed.
    def step(state, x, target):
        p, m, v, t = state
        loss, g = jax.value_and_grad(loss_of)(p, x, target)
        norm = jnp.sqrt(sum(jnp.sum(a * a) for a in jax.tree.leaves(g)))
        g = jax.tree.map(lambda a: a * jnp.minimum(1.0, 1.0 / norm), g)
        m = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, m, g)
        v = jax.tree.map(lambda v, g: 0.999 * v + 0.001 * g * g, v, g)
        share = jnp.minimum(1.0, (t - 10) / 90)
        lr = jnp.where(t < 10, 1e-3 * t / 10, 1e-4 + 9e-4 * 0.5 * (1 + jnp.cos(jnp.pi * share)))
        a, b = 1 - 0.9 ** (t + 1), 1 - 0.999 ** (t + 1)
        new = lambda p, m, v: p - lr * ((m / a) / (jnp.sqrt(v / b) + 1e-8) + 1e-5 * p)
        return (jax.tree.map(new, p, m, v), m, v, t + 1), loss

    step = jax.jit(step, donate_argnums=0)
    p = {name: jnp.asarray(a) for name, a in task.parameters.items()}
    zeros = jax.tree.map(jnp.zeros_like, p)
    state = (p, zeros, jax.tree.map(jnp.zeros_like, p), jnp.float32(0))
    x, target = jnp.asarray(task.input), jnp.asarray(task.target)
    losses, times, begin = [], [], time.perf_counter()
    while len(losses) < steps or (seconds and time.perf_counter() - begin < seconds):
        start = time.perf_counter()
        state, loss = step(state, x, target)
        losses.append(float(loss))
        times.append(time.perf_counter() - start)
    return losses, times, jax.__version__


def run_torch(task, steps, projected, seconds):
    import torch
    import torch.nn.functional as F

    torch.set_num_threads(int(os.environ.get("OMP_NUM_THREADS", os.cpu_count() or 1)))

    class ops:
        cat = staticmethod(lambda parts: torch.cat(parts, -1))
        silu = staticmethod(F.silu)
        take = staticmethod(lambda a, index: a.index_select(1, index))
        norm = staticmethod(lambda a: F.layer_norm(a, a.shape[-1:], eps=1e-5))

        @staticmethod
        def broadcast(parts):
            n = max(part.shape[0] for part in parts) if parts[0].ndim == 3 else 0
            return [part.expand(n, -1, -1) for part in parts] if n else parts

        @staticmethod
        def sum_at(m, index, n):
            return torch.zeros(m.shape[0], n, m.shape[2]).index_add(1, index, m)

    edges = {
        name: (torch.from_numpy(s.astype(np.int64)), torch.from_numpy(r.astype(np.int64)), torch.from_numpy(f))
        for name, (s, r, f) in task.edges.items()
    }
    mesh = torch.from_numpy(task.mesh)
    p = {name: torch.from_numpy(a.copy()).requires_grad_() for name, a in task.parameters.items()}
    optimiser = torch.optim.AdamW(p.values(), lr=0.0, betas=(0.9, 0.999), eps=1e-8, weight_decay=1e-5, foreach=True)
    x, target = torch.from_numpy(task.input), torch.from_numpy(task.target)
    losses, times, begin = [], [], time.perf_counter()
    while len(losses) < steps or (seconds and time.perf_counter() - begin < seconds):
        start = time.perf_counter()
        optimiser.param_groups[0]["lr"] = rate(len(losses))
        optimiser.zero_grad(set_to_none=True)
        loss = ((forward(task, p, x, ops, edges, mesh, projected) - target) ** 2).mean()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(p.values(), 1.0, foreach=True)
        optimiser.step()
        losses.append(loss.item())
        times.append(time.perf_counter() - start)
    return losses, times, torch.__version__


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("library", choices=["jax", "torch"])
    parser.add_argument("--latent", type=int, default=64)
    parser.add_argument("--batch", type=int, default=4)
    parser.add_argument("--steps", type=int, default=12, help="steps at least")
    parser.add_argument("--seconds", type=float, default=0.0, help="go on for as long")
    parser.add_argument("--projected", action="store_true")
    parser.add_argument("--golden", help="write the trajectory of the small task here")
    args = parser.parse_args()
    run = {"jax": run_jax, "torch": run_torch}[args.library]
    if args.golden:
        task = Task(16, 12, 2, 2, (5, 3))
        losses, _, version = run(task, 101, False, 0.0)
        n = int(sum(a.size for a in task.parameters.values()))
        with open(args.golden, "w") as file:
            json.dump({"made_by": f"{args.library} {version}", "parameters": n, "losses": losses}, file, indent=0)
            file.write("\n")
        return
    task = Task(args.latent, 40, 4, args.batch, (40, 17))
    losses, times, version = run(task, args.steps, args.projected, args.seconds)
    later = sorted(times[1:])
    print(
        json.dumps(
            {
                "library": args.library,
                "version": version,
                "projected": args.projected,
                "first_step_s": times[0],
                "median_step_s": later[len(later) // 2],
                "min_step_s": later[0],
                "steps": len(times),
                "losses": losses[:12],
            }
        )
    )


if __name__ == "__main__":
    main()
