"""One step of a trained forecast in NumPy: what the weights of a checkpoint mean.

    python examples/weather_numpy.py data.nc run/best.safetensors 2000-01-10

For `--task forecast --graph flat` on a grid of latitudes and longitudes. The same in PyTorch is the
same text with tensors: `torch.from_numpy` of each array of `load`, or
`safetensors.torch.load_file(path)`, gives the weights, `(inputs, outputs)` each.
"""

from __future__ import annotations

import json
import sys

import numpy as np

#: Kilometres of a degree of latitude.
DEGREE_KM = 111.195


def load(path):
    """The tensors of a checkpoint by name, and what it says of itself."""
    with open(path, "rb") as file:
        header = json.loads(file.read(int.from_bytes(file.read(8), "little")))
        data = file.read()
    state = json.loads(header.pop("__metadata__")["state"])
    tensors = {
        name: np.frombuffer(data[slice(*entry["data_offsets"])], "<f4").reshape(entry["shape"])
        for name, entry in header.items()
    }
    return tensors, state


def perceptron(weights, name, x):
    """Hidden layers with SiLU, a linear one, and LayerNorm where the block has one."""
    last = max(int(key[len(name) + 2 :]) for key in weights if key.startswith(f"{name}.w"))
    for k in range(last + 1):
        x = x @ weights[f"{name}.w{k}"] + weights[f"{name}.b{k}"]
        if k < last:
            x = x / (1 + np.exp(-x))
    if f"{name}.gamma" in weights:
        x = (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + 1e-5)
        x = x * weights[f"{name}.gamma"] + weights[f"{name}.beta"]
    return x


def forcings(time, lat, lon):
    """(node, 5): sine and cosine of the time of day and of the year, and the sun's height."""
    day = time.astype("datetime64[D]")
    hour = (time - day) / np.timedelta64(1, "h")
    of_year = (time - time.astype("datetime64[Y]")) / np.timedelta64(1, "D")
    turn, year = 2 * np.pi * hour / 24, 2 * np.pi * of_year / 365.25
    tilt = np.radians(-23.44) * np.cos(2 * np.pi * (of_year + 10) / 365.25)
    angle = turn + np.radians(lon) - np.pi
    sun = np.sin(np.radians(lat)) * np.sin(tilt)
    sun = sun + np.cos(np.radians(lat)) * np.cos(tilt) * np.cos(angle)
    same = np.broadcast_to([np.sin(turn), np.cos(turn), np.sin(year), np.cos(year)], (lat.size, 4))
    return np.column_stack([same, np.maximum(sun, 0)])


def neighbours(rows, columns):
    """(receiver, sender) of every point and its eight neighbours, sorted."""
    pairs = []
    for node in range(rows * columns):
        y, x = divmod(node, columns)
        for dy in (-1, 0, 1):
            for dx in (-1, 0, 1):
                inside = 0 <= y + dy < rows and 0 <= x + dx < columns
                if inside and (dy or dx):
                    pairs.append((node, (y + dy) * columns + x + dx))
    return np.array(pairs).T


def edge_features(receivers, senders, lat, lon):
    """East, north and distance from receiver to sender, in units of the longest edge."""
    middle = np.radians(0.5 * (lat[senders] + lat[receivers]))
    east = (lon[senders] - lon[receivers]) * np.cos(middle) * DEGREE_KM
    north = (lat[senders] - lat[receivers]) * DEGREE_KM
    length = np.hypot(east, north)
    return np.column_stack([east, north, length]) / length.max()


def statics(fields, lat, lon, boundary):
    """Static fields with mean 0 and deviation 1, the place of a node, 1 on the boundary."""
    scaled = [(f - f.mean()) / (f.std() or 1) for f in fields]
    phi, theta = np.radians(lat), np.radians(lon)
    place = [np.sin(phi), np.cos(phi), np.sin(theta), np.cos(theta)]
    return np.column_stack([*scaled, *place, boundary])


def network(weights, layers, inputs, edges, receivers, senders):
    """Encode, process, decode: what is added to a forecast, (node, channel)."""
    nodes = perceptron(weights, "embed.nodes.grid", inputs)
    links = perceptron(weights, "embed.edges.grid", edges)
    for k in range(layers):
        both = np.column_stack([links, nodes[senders], nodes[receivers]])
        messages = perceptron(weights, f"layer{k}.edges.grid", both)
        sums = np.zeros_like(nodes)
        np.add.at(sums, receivers, messages)
        links = links + messages
        both = np.column_stack([nodes, sums])
        nodes = nodes + perceptron(weights, f"layer{k}.nodes.grid", both)
    return perceptron(weights, "decode", nodes)


def baseline(scales, before, now, rows, columns):
    """The change that a forecast goes on from: a linear model of the 3 x 3 neighbourhood of both
    states, or momentum."""
    if scales["linear"] is None:
        return np.array(scales["momentum"]) * (now - before)
    n = now.shape[1]
    weights = np.array(scales["linear"]["weights"], "f4").reshape(2 * 9 * n + 1, -1)[:, :n]
    y, x = np.divmod(np.arange(rows * columns), columns)
    near = []
    for state in (before, now):
        for dy in (-1, 0, 1):
            for dx in (-1, 0, 1):
                row, column = np.clip(y + dy, 0, rows - 1), np.clip(x + dx, 0, columns - 1)
                near.append(state[row * columns + column])
    return np.column_stack([*near, np.ones(rows * columns)]) @ weights


def records(data, state, times):
    """States (node, channel) of times as the network sees them, and the points."""
    lat, lon = np.meshgrid(data["lat"].values, data["lon"].values, indexing="ij")
    columns = []
    for channel in state["identity"]["channels"]:
        field = data[channel["variable"]].sel(time=times)
        if channel["level"] is not None:
            field = field.sel(level=channel["level"])
        columns.append(field.transpose("time", "lat", "lon").values.reshape(len(times), -1))
    values = np.stack(columns, -1).astype("f8")
    scales = state["normaliser"]
    return (values - scales["mean"]) / np.array(scales["sd"]), lat.ravel(), lon.ravel()


def step(data, path, initial_time):
    """The state one step after `initial_time`, (lat, lon, channel) in the units of the channels;
    the boundary is the truth."""
    tensors, state = load(path)
    identity, scales = state["identity"], state["normaliser"]
    # What forecasts: the averaged parameters where they are kept.
    group = "average" if any(name.startswith("average/") for name in tensors) else "parameters"
    weights = {
        name.partition("/")[2]: values.astype("f8")
        for name, values in tensors.items()
        if name.startswith(f"{group}/")
    }
    hop = np.timedelta64(identity["step_s"], "s")
    times = np.datetime64(initial_time, "s") + hop * np.array([-1, 0, 1])
    (before, now, after), lat, lon = records(data, state, times)
    rows, columns = len(identity["lat"]), len(identity["lon"])
    y, x = np.divmod(np.arange(rows * columns), columns)
    width = identity["task"]["boundary_width"]
    edge = np.minimum(np.minimum(y, rows - 1 - y), np.minimum(x, columns - 1 - x)) < width
    fields = [data[name].values.ravel().astype("f8") for name in identity["statics"]]
    inputs = np.column_stack(
        [
            (now - before) / scales["change_sd"],
            now,
            *(forcings(time, lat, lon) for time in times),
            statics(fields, lat, lon, edge),
        ]
    )
    receivers, senders = neighbours(rows, columns)
    edges = edge_features(receivers, senders, lat, lon)
    added = network(weights, identity["num_gnn_layers"], inputs, edges, receivers, senders)
    rest = np.array(scales["rest_mean"]) + np.array(scales["rest_sd"]) * added
    forecast = now + baseline(scales, before, now, rows, columns) + rest
    forecast[edge] = after[edge]
    values = forecast * scales["sd"] + scales["mean"]
    return values.reshape(rows, columns, -1)


def main(data, checkpoint, initial_time):
    import xarray as xr

    with xr.open_dataset(data) as records:
        made = step(records, checkpoint, initial_time)
    _, state = load(checkpoint)
    for k, channel in enumerate(state["identity"]["channels"]):
        level = "" if channel["level"] is None else f" {channel['level']:g} hPa"
        print(f"{channel['variable']}{level}: mean {made[..., k].mean():.6g}")
    return made


if __name__ == "__main__":
    main(*sys.argv[1:])
