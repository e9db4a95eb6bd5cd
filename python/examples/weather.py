"""A regional forecast: a small synthetic atmosphere, a graph network trained on it, its scores, a
forecast.

    python examples/weather.py

What stood on the command line of `train_model.py` are named arguments: `--batch-size 4` is
`batch_size=4`, `--no-prefetch` is `use_prefetch=False`, `--jax-platform gpu` is
`jax_platform="gpu"`.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

from fitzroy import weather

#: A region of a few hundred kilometres, so that everything takes seconds; of data of one's own the
#: path is all that is needed.
REGION = "--grid 32 --days 60 --lat-min 35 --lat-max 55 --lon-min -10 --lon-max 10"


def main(folder=None, max_steps=60):
    folder = Path(folder or tempfile.mkdtemp(prefix="fitzroy-weather-"))
    data = folder / "synthetic.nc"
    synth = [sys.executable, "-m", "fitzroy", "weather", "synth", *REGION.split()]
    subprocess.run([*synth, "--out", str(data)], check=True, capture_output=True)

    settings = dict(
        batch_size=4,
        latent_size=32,
        num_gnn_layers=2,
        learning_rate=1e-3,
        boundary_width=1,
        use_prefetch=True,
        prefetch_buffer_size=4,
        validation_frequency=20,
        progressbar=False,
    )
    plan = weather.train(data, dry_run=True, **settings)
    print(f"{plan.document['parameters']} parameters, {plan.document['total_bytes'] >> 20} MiB")
    trained = weather.train(data, folder / "run", max_steps=max_steps, **settings)
    print(trained)

    scores = weather.evaluate(data, trained, leads=4, out=folder / "scores", progressbar=False)
    print(scores)
    import xarray as xr

    with xr.open_dataset(data) as records:
        start = records["time"].values[-9]
    forecast = weather.predict(data, trained, initial_time=start, num_steps=8)
    print(forecast)
    return {"trained": trained, "scores": scores, "forecast": forecast, "plan": plan.document}


if __name__ == "__main__":
    main()
