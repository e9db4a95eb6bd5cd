//! Files of others, and how they are told of.

use super::program::{SMALL_NETWORK, Scratch};
use super::{evaluate, predict, python, synthetic, train};

/// xarray opens what was synthesised, and saves it as Zarr of both versions with every codec that is
/// read; training on any of them is training on the file.
#[test]
fn xarray_opens_synthetic_weather_and_its_zarr_stores_train_alike() {
    let scratch = Scratch::new("weather-zarr");
    synthetic(&scratch, "a.nc", &[]);
    let file = scratch.0.join("a.nc").display().to_string();
    let folder = scratch.0.display().to_string();
    if !python("tests/python/check_weather.py", &[&file, &folder]) {
        return;
    }
    let loss = |data: &str, out: &str| {
        let mut args = vec!["weather", "train", "--data", data, "--out", out, "--json"];
        args.extend_from_slice(&SMALL_NETWORK);
        args.extend_from_slice(&["--max-steps", "2", "--threads", "1"]);
        let found = scratch.fitzroy(&args).ends_with(0).json();
        found["last_loss"].as_f64().expect("a loss")
    };
    let whole = loss("a.nc", "of-a");
    let mut stores: Vec<String> = scratch.names();
    stores.retain(|name| {
        name.ends_with(".zarr") && !["packed.zarr", "holes.zarr"].contains(&&**name)
    });
    assert!(stores.len() >= 8, "{stores:?}");
    for store in &stores {
        assert_eq!(loss(store, &format!("of-{store}")), whole, "{store}");
    }
    // Whole numbers of 1e-5, latitudes turned over: the same to their rounding.
    let packed = loss("packed.zarr", "of-packed");
    assert!((packed / whole - 1.0).abs() < 1e-3, "{packed} {whole}");
    let said = scratch.fitzroy(&["weather", "train", "--data", "holes.zarr", "--dry-run"]);
    said.ends_with(2)
        .complains(&["holes.zarr", "TEM 850 hPa", "1 of 81", "2000-01-01T18"]);
    let chunk = scratch.0.join("blosc.zarr/TEM/0.0.0.0");
    std::fs::write(chunk, [2, 1, 33]).expect("the store is there");
    let said = scratch.fitzroy(&["weather", "train", "--data", "blosc.zarr", "--dry-run"]);
    said.ends_with(2).complains(&[
        "error: blosc.zarr: `TEM`: chunk 0.0.0.0: ",
        "damaged or cut short",
    ]);
    std::fs::create_dir(scratch.0.join("empty")).expect("a folder");
    let said = scratch.fitzroy(&["weather", "train", "--data", "empty", "--dry-run"]);
    said.ends_with(2)
        .complains(&["error: empty: this folder is not a Zarr store"]);
}

/// ERA5 temperature over the United Kingdom, where `FITZROY_ERA5_SAMPLE` names the file: real data
/// are read, split, trained on and scored. One variable for three weeks makes no skilful model, and
/// none is asked for.
#[test]
fn a_real_sample_is_read_trained_on_and_scored() {
    let Ok(sample) = std::env::var("FITZROY_ERA5_SAMPLE") else {
        eprintln!("skipped: FITZROY_ERA5_SAMPLE names no file of ERA5");
        return;
    };
    let scratch = Scratch::new("weather-era5");
    let mut args = vec![
        "weather", "train", "--data", &sample, "--out", "run", "--json",
    ];
    args.extend_from_slice(&SMALL_NETWORK);
    args.extend_from_slice(&["--graph", "flat", "--max-steps", "30"]);
    let trained = scratch.fitzroy(&args).ends_with(0).json();
    // Thirty steps are a little better than none, at each hour.
    let beside = trained["beside_start"].as_array().expect("a list");
    assert!(!beside.is_empty());
    assert!(
        beside
            .iter()
            .all(|b| b["rmse_ratio"].as_f64().is_some_and(|r| r < 1.0))
    );
    let scored = scratch.fitzroy(&evaluate(
        &sample,
        "run",
        &[
            "--leads",
            "2",
            "--max-starts",
            "6",
            "--out",
            "scores",
            "--json",
        ],
    ));
    let scored = scored.ends_with(0).json();
    let persistence = scored["scores"].as_array().expect("scores").iter();
    let rmse: Vec<f64> = persistence
        .filter(|s| s["method"] == "persistence")
        .filter_map(|s| s["rmse"].as_f64())
        .collect();
    // Kelvin within an hour or two: tenths, and more at the later.
    assert!(
        rmse[0] > 0.05 && rmse[0] < 2.0 && rmse[1] > rmse[0],
        "{rmse:?}"
    );
}

/// Part of what a file holds is used: the rest is named, with how to use it, and kept with the run.
#[test]
fn what_a_file_holds_and_what_is_used_is_said_and_kept() {
    let scratch = Scratch::new("weather-contents");
    synthetic(&scratch, "a.nc", &[]);
    let flags = ["--variables", "U,TEM", "--max-steps", "2", "--out", "run"];
    let said = scratch.fitzroy(&train(&flags)).ends_with(0);
    said.complains(&[
        "uses U 250 hPa [m s-1]",
        "not used: DPT, GPH, V, precipitation",
        "--variables U,TEM,DPT,GPH,V,precipitation",
    ]);
    let run = std::fs::read_to_string(scratch.0.join("run/run.json")).expect("it is there");
    let run: serde_json::Value = serde_json::from_str(&run).expect("JSON");
    assert_eq!(run["contents"]["unused"][0], "DPT");
    assert_eq!(run["contents"]["used"].as_array().expect("a list").len(), 4);
    assert_eq!(run["beside_start"].as_array().expect("a list").len(), 5);
}

/// The same archive with the places of its points one by one, as a curvilinear grid has them.
fn curved(scratch: &Scratch, from: &str, to: &str) {
    use fitzroy_weather::data::{Archive, Chosen, Room};
    use fitzroy_weather::files::{GridFile, GridHeader, GridVariable};
    let read = Archive::read(
        &[scratch.0.join(from)],
        &Chosen::default(),
        &Room::in_memory(),
    )
    .expect("it is read");
    let (n, n_channels) = (read.n_nodes(), read.channels.len());
    let mut names: Vec<&str> = read.channels.iter().map(|c| c.variable.as_str()).collect();
    names.dedup();
    let channels = &read.channels;
    let of = |name: &str| {
        let own = (0..n_channels).filter(|c| channels[*c].variable == name);
        own.collect::<Vec<usize>>()
    };
    let variable = |name: &&str| GridVariable {
        name: name.to_string(),
        units: read.channels[of(name)[0]].units.clone(),
        long_name: name.to_string(),
        has_levels: read.channels[of(name)[0]].level.is_some(),
    };
    let fixed = |(name, values): &(String, Vec<f32>)| {
        let variable = GridVariable {
            name: name.clone(),
            units: "1".into(),
            long_name: name.clone(),
            has_levels: false,
        };
        (variable, values.clone())
    };
    let header = GridHeader {
        title: "test".into(),
        attributes: Vec::new(),
        times: read.times.clone(),
        levels: read.channels.iter().take(2).flat_map(|c| c.level).collect(),
        lat: (0..n).map(|k| read.place(k).0).collect(),
        lon: (0..n).map(|k| read.place(k).1).collect(),
        curved: Some(read.shape()),
        variables: names.iter().map(variable).collect(),
        statics: read.statics.iter().map(fixed).collect(),
        compression: 1,
    };
    let mut file = GridFile::create(&scratch.0.join(to), header).expect("it is written");
    for t in 0..read.times.len() {
        for (number, name) in names.iter().enumerate() {
            let fields = of(name).into_iter().flat_map(|c| {
                let record = read.record(t);
                (0..n).map(move |node| record[node * n_channels + c])
            });
            file.write(t, number, &fields.collect::<Vec<f32>>())
                .expect("it is written");
        }
    }
    file.finish().expect("it is written");
}

/// A grid of latitudes and longitudes that is said point by point trains, scores and forecasts as
/// it does otherwise, but for the rounding of areas.
#[test]
fn a_curvilinear_grid_trains_as_the_same_grid_said_by_its_axes() {
    let scratch = Scratch::new("weather-curved");
    synthetic(&scratch, "a.nc", &[]);
    curved(&scratch, "a.nc", "curved.nc");
    let outcome = |data: &str, out: &str| {
        let mut args = train(&["--max-steps", "4", "--json", "--out"]);
        args[3] = if data == "a.nc" { "a.nc" } else { "curved.nc" };
        let args: Vec<&str> = args.iter().copied().chain([out]).collect();
        scratch.fitzroy(&args).ends_with(0).json()
    };
    let (plain, turned) = (outcome("a.nc", "plain"), outcome("curved.nc", "turned"));
    for field in ["last_loss", "best_validation_loss"] {
        let (a, b) = (
            plain[field].as_f64().unwrap(),
            turned[field].as_f64().unwrap(),
        );
        assert!((a / b - 1.0).abs() < 1e-4, "{field}: {a} and {b}");
    }
    let scores = |data: &str, run: &str| {
        let checkpoint = format!("{run}/best.safetensors");
        let out = format!("{run}-scores");
        let more = ["--leads", "2", "--json", "--out", &out];
        let args = evaluate(data, &checkpoint, &more);
        let found = scratch.fitzroy(&args).ends_with(0).json();
        let all = found["scores"].as_array().unwrap().iter();
        all.map(|s| s["rmse"].as_f64().unwrap())
            .collect::<Vec<f64>>()
    };
    let (a, b) = (scores("a.nc", "plain"), scores("curved.nc", "turned"));
    assert_eq!(a.len(), b.len());
    for (a, b) in a.iter().zip(&b) {
        assert!((a / b - 1.0).abs() < 1e-3, "{a} and {b}");
    }
    let more = ["--num-steps", "2", "--output", "forecast.nc"];
    scratch
        .fitzroy(&predict("curved.nc", "turned", "2000-01-10", &more))
        .ends_with(0);
    let said = scratch.fitzroy(&["weather", "inspect", "--data", "forecast.nc"]);
    said.says(&["curvilinear", "9 latitudes from", "TEM"]);
    scratch
        .fitzroy(&[
            "weather",
            "inspect",
            "--data",
            "curved.nc",
            "--region",
            "0,10,0,10",
        ])
        .ends_with(2)
        .complains(&["--region", "curvilinear"]);
}

/// What an archive holds is told before anything is trained, and what is wrong with a table of names
/// or a region.
#[test]
fn an_archive_is_told_of_before_anything_is_trained() {
    let scratch = Scratch::new("weather-inspect");
    synthetic(&scratch, "a.nc", &[]);
    let args = ["weather", "inspect", "--data", "a.nc", "--json"];
    let found = scratch.fitzroy(&args).ends_with(0).json();
    assert_eq!(found["channels_used"].as_array().unwrap().len(), 11);
    assert_eq!(found["gaps"].as_array().unwrap().len(), 0);
    let rain = found["variables"].as_array().unwrap().iter();
    let rain = rain
        .clone()
        .find(|v| v["variable"] == "precipitation")
        .unwrap();
    assert_eq!((&rain["used"], &rain["missing"]), (&true.into(), &0.into()));
    scratch.file("bad.toml", "[TEM]\nname = [\"t\"]\n");
    let args = [
        "weather", "inspect", "--data", "a.nc", "--names", "bad.toml",
    ];
    scratch.fitzroy(&args).ends_with(2).complains(&[
        "bad.toml",
        "[TEM]",
        "`name` is not known",
        "standard_names",
    ]);
    let args = [
        "weather",
        "inspect",
        "--data",
        "a.nc",
        "--region",
        "100,110,0,10",
    ];
    scratch
        .fitzroy(&args)
        .ends_with(2)
        .complains(&["--region", "latitudes of the file go from"]);
    let args = ["weather", "inspect", "--data", "a.nc", "--variables", "sst"];
    scratch
        .fitzroy(&args)
        .ends_with(1)
        .says(&["would be refused", "`sst` is missing"]);
}
