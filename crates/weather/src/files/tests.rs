//! Files as other programs write them, made with the HDF5 crate.

#[path = "../../tests/noise/mod.rs"]
mod noise;

use super::*;
use crate::data::Room;
use crate::data::{Archive, Chosen};
use crate::time::Time;
use noise::noise;
use rust_hdf5::H5File;
use std::path::PathBuf;

struct Temporary(PathBuf);

impl Temporary {
    fn new(name: &str) -> Self {
        let file = format!("fitzroy-files-{name}-{}.nc", std::process::id());
        Temporary(std::env::temp_dir().join(file))
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

/// ERA5's habits: latitudes from north to south, packed 16-bit numbers, seconds as time.
fn packed(path: &Temporary, times: &[i64], units: &str) {
    let file = H5File::options().no_locking().create(&path.0).unwrap();
    let axis = |name: &str, values: &[f64]| {
        let set = file
            .new_dataset::<f64>()
            .shape([values.len()])
            .create(name)
            .unwrap();
        set.write_raw(values).unwrap();
        set
    };
    axis("latitude", &[58.0, 57.0, 56.0]);
    axis("longitude", &[1.0, 2.0, 3.0, 4.0]);
    let time = file
        .new_dataset::<i64>()
        .shape([times.len()])
        .create("time")
        .unwrap();
    time.write_raw(times).unwrap();
    let text = |set: &rust_hdf5::H5Dataset, name: &str, value: &str| {
        set.new_attr::<i8>()
            .shape(())
            .create(name)
            .unwrap()
            .write_string(value)
            .unwrap();
    };
    text(&time, "units", units);
    let values: Vec<i16> = (0..times.len() as i16 * 12).collect();
    let set = file
        .new_dataset::<i16>()
        .shape([times.len(), 3, 4])
        .create("t2m")
        .unwrap();
    set.write_raw(&values).unwrap();
    for (name, value) in [("scale_factor", 0.5_f64), ("add_offset", 200.0)] {
        let attribute = set.new_attr::<f64>().shape([1]).create(name).unwrap();
        attribute.write_array(&[value]).unwrap();
    }
    let fill = set
        .new_attr::<i16>()
        .shape([1])
        .create("_FillValue")
        .unwrap();
    fill.write_array(&[-5_i16]).unwrap();
    text(&set, "units", "K");
    file.close().unwrap();
}

#[test]
fn packed_numbers_and_falling_latitudes_are_put_right() {
    let path = Temporary::new("packed");
    packed(
        &path,
        &[0, 3600, 7200, 10_800, 18_000],
        "seconds since 1970-01-01",
    );
    let archive = Archive::read(
        std::slice::from_ref(&path.0),
        &Chosen::default(),
        &Room::in_memory(),
    )
    .unwrap();
    assert_eq!(archive.lat, [56.0, 57.0, 58.0]);
    assert_eq!((archive.step_s, archive.channels.len()), (3600, 1));
    // The north row of the file, 0 to 3, is the last row here.
    assert_eq!(&archive.record(0)[8..], [200.0, 200.5, 201.0, 201.5]);
    assert_eq!(archive.record(1)[0], 200.0 + 0.5 * 20.0);
    assert_eq!(archive.times[4], Time(18_000));
}

#[test]
fn wrong_times_missing_values_and_foreign_units_are_refused() {
    let read = |path: &Temporary, chosen: &Chosen| {
        Archive::read(std::slice::from_ref(&path.0), chosen, &Room::in_memory())
            .unwrap_err()
            .to_string()
    };
    let path = Temporary::new("times");
    packed(&path, &[0, 3600, 3600, 7200], "seconds since 1970-01-01");
    assert!(read(&path, &Chosen::default()).contains("time repeats: record 2"));
    packed(&path, &[0, 7200, 3600, 9000], "seconds since 1970-01-01");
    assert!(read(&path, &Chosen::default()).contains("time goes back: record 2"));
    packed(&path, &[0, 1, 2, 3], "fortnights since 1970-01-01");
    assert!(read(&path, &Chosen::default()).contains("fortnights"));
    packed(&path, &[0, 1, 2, 3], "hours since 1970-01-01");
    let chosen = Chosen {
        variables: vec!["sst".into()],
        levels: Vec::new(),
        ..Chosen::default()
    };
    assert!(read(&path, &chosen).contains("`sst` is missing"));
    let few = Room {
        memory_bytes: Some(10),
        folder: None,
    };
    let few = Archive::read(std::slice::from_ref(&path.0), &Chosen::default(), &few);
    assert!(few.unwrap_err().to_string().contains("is free"));
}

fn written(path: &Temporary, unit: &str, hole: f32) {
    let variable = GridVariable {
        name: "TEM".into(),
        units: unit.into(),
        long_name: "temperature".into(),
        has_levels: true,
    };
    let header = GridHeader {
        title: "test".into(),
        attributes: Vec::new(),
        times: (0..5).map(|k| Time(k * 21_600)).collect(),
        levels: vec![500.0, 850.0],
        lat: vec![10.0, 11.0, 12.0],
        lon: vec![0.0, 1.0],
        curved: None,
        variables: vec![variable],
        statics: Vec::new(),
        compression: 4,
    };
    let mut file = GridFile::create(&path.0, header).unwrap();
    for time in 0..5 {
        let mut values: Vec<f32> = (0..12).map(|k| 250.0 + (time * 12 + k) as f32).collect();
        if time == 3 {
            values[8] = hole;
        }
        file.write(time, 0, &values).unwrap();
    }
    file.finish().unwrap();
}

#[test]
fn what_is_written_is_read_back() {
    let path = Temporary::new("written");
    written(&path, "K", 1.0);
    let archive = Archive::read(
        std::slice::from_ref(&path.0),
        &Chosen::default(),
        &Room::in_memory(),
    )
    .unwrap();
    assert_eq!(archive.channels.len(), 2);
    // Node 1, both levels.
    assert_eq!(&archive.record(2)[2..4], [250.0 + 25.0, 250.0 + 31.0]);
    assert_eq!(archive.times[4], Time(4 * 21_600));
    let chosen = Chosen {
        variables: vec!["TEM".into()],
        levels: vec![850.0],
        ..Chosen::default()
    };
    let one = Archive::read(std::slice::from_ref(&path.0), &chosen, &Room::in_memory()).unwrap();
    assert_eq!(one.record(2)[1], 250.0 + 31.0);
}

#[test]
fn holes_and_units_are_named_with_their_place() {
    let path = Temporary::new("holes");
    let read = || {
        Archive::read(
            std::slice::from_ref(&path.0),
            &Chosen::default(),
            &Room::in_memory(),
        )
        .unwrap_err()
        .to_string()
    };
    written(&path, "K", f32::NAN);
    let message = read();
    assert!(
        message.contains("TEM 850 hPa has 1 of 6") && message.contains("1970-01-01T18:00"),
        "{message}"
    );
    written(&path, "furlong", 1.0);
    assert!(read().contains("in `furlong`, needed is K"));
}

#[test]
fn text_archives_become_one_file_with_rain_at_its_hour() {
    let folder = std::env::temp_dir().join(format!("fitzroy-text-{}", std::process::id()));
    let (levels, rain) = (folder.join("hpa"), folder.join("rain"));
    std::fs::create_dir_all(&levels).unwrap();
    std::fs::create_dir_all(&rain).unwrap();
    std::fs::write(folder.join("lat.txt"), "31\n30\n").unwrap();
    std::fs::write(folder.join("lon.txt"), "100, 101, 102").unwrap();
    for (k, (date, hour)) in [
        ("20200131", "00"),
        ("20200131", "12"),
        ("20200201", "00"),
        ("20200201", "12"),
    ]
    .iter()
    .enumerate()
    {
        for variable in ["DPT", "TEM", "GPH", "U", "V"] {
            let numbers: Vec<String> = (0..12).map(|i| format!("{}", 100 * k + i)).collect();
            let name = format!("{variable}_{date}_{hour}.txt");
            std::fs::write(levels.join(name), numbers.join(" ")).unwrap();
        }
        let span = if *hour == "12" { "8-20" } else { "20-8" };
        std::fs::write(rain.join(format!("{date}_{span}.txt")), "1 2 3\n4 5 6").unwrap();
    }
    std::fs::write(rain.join("20200202_8-20.txt"), "1 2 3 4 5 6").unwrap();
    std::fs::write(levels.join("RH_20200131_00.txt"), "1 2 3").unwrap();
    let archive = TextArchive {
        lat_file: folder.join("lat.txt"),
        lon_file: folder.join("lon.txt"),
        level_dir: levels.clone(),
        rain_dir: rain,
        levels: vec![500.0, 850.0],
        compression: 4,
    };
    let out = folder.join("all.nc");
    let gathered = gather(&archive, &out).unwrap();
    assert_eq!(
        (gathered.n_times, gathered.incomplete),
        (4, vec!["2020-02-02T12:00".to_string()])
    );
    assert_eq!(gathered.ignored, ["RH_20200131_00.txt"]);
    let read = Archive::read(&[out], &Chosen::default(), &Room::in_memory()).unwrap();
    assert_eq!(
        (read.lat.as_slice(), read.step_s, read.channels.len()),
        (&[30.0, 31.0][..], 43_200, 11)
    );
    // South-west of the second record: row two of the file, first level 103, second 109.
    assert_eq!(&read.record(1)[..2], [103.0, 109.0]);
    assert_eq!(read.record(1)[10], 4.0);
    std::fs::write(levels.join("TEM_20200131_00.txt"), "1 2 x").unwrap();
    let error = gather(&archive, &folder.join("b.nc"))
        .unwrap_err()
        .to_string();
    assert!(error.contains("`x` is no number"), "{error}");
    assert!(!folder.join("b.nc").exists());
    std::fs::remove_dir_all(&folder).unwrap();
}

/// What a file of random layout must be read as: plain lists.
struct Oracle {
    times: Vec<i64>,
    lat: Vec<f64>,
    lon: Vec<f64>,
    /// (time, channel, lat, lon), `t2m` and then the levels of `q`.
    fields: Vec<Vec<Vec<Vec<f64>>>>,
}

/// Writes a file of random size, order of axes, direction of latitudes, convention of longitudes,
/// gaps in time, unit of time and packing.
fn random_file(path: &Temporary, seed: u64) -> Oracle {
    let mut pick = noise(seed);
    let sizes = [5 + pick(4), 10 + pick(3), 13 + pick(5)];
    let (n_lat, n_lon, n_times) = (sizes[0], sizes[1], sizes[2]);
    let n_levels = 2 + pick(2);
    let mut times = Vec::new();
    let mut hour = 24 * pick(20_000) as i64;
    for k in 0..n_times {
        times.push(hour * 3600);
        // A gap now and then: fewer than steps of the usual length, which is the most frequent.
        hour += if k % 3 == 2 && pick(2) == 0 { 18 } else { 6 };
    }
    let south = -60.0 + pick(100) as f64;
    let lat: Vec<f64> = (0..n_lat).map(|k| south + 0.5 * k as f64).collect();
    // Anywhere, Greenwich and the date line included; read so that the first is in [-180, 360).
    let west = -180.0 + pick(360) as f64;
    let lon: Vec<f64> = (0..n_lon).map(|k| west + k as f64).collect();
    let mut field = |base: f64| -> Vec<Vec<f64>> {
        let mut value = || base + 0.5 * pick(200) as f64;
        let mut row = || (0..n_lon).map(|_| value()).collect();
        (0..n_lat).map(|_| row()).collect()
    };
    let mut record = || (0..=n_levels).map(|c| field(200.0 + c as f64)).collect();
    let fields: Vec<Vec<Vec<Vec<f64>>>> = (0..n_times).map(|_| record()).collect();
    let oracle = Oracle {
        times,
        lat,
        lon,
        fields,
    };
    write_layout(path, &oracle, &mut pick);
    oracle
}

fn write_layout(path: &Temporary, oracle: &Oracle, pick: &mut impl FnMut(usize) -> usize) {
    let (n_lat, n_lon, n_times) = (oracle.lat.len(), oracle.lon.len(), oracle.times.len());
    let n_levels = oracle.fields[0].len() - 1;
    let rows: Vec<usize> = match pick(2) {
        0 => (0..n_lat).collect(),
        _ => (0..n_lat).rev().collect(),
    };
    // -180 to 180, or 0 to 360; sorted, or as the region lies.
    let wrap = |x: f64, low: f64| (x - low).rem_euclid(360.0) + low;
    let low = [-180.0, 0.0][pick(2)];
    let mut columns: Vec<usize> = (0..n_lon).collect();
    if pick(2) == 0 {
        columns.sort_by(|&a, &b| wrap(oracle.lon[a], low).total_cmp(&wrap(oracle.lon[b], low)));
    }
    let file = H5File::options().no_locking().create(&path.0).unwrap();
    let axis = |name: &str, values: &[f64]| {
        let set = file.new_dataset::<f64>().shape([values.len()]);
        let set = set.create(name).unwrap();
        set.write_raw(values).unwrap();
        set
    };
    let text = |set: &rust_hdf5::H5Dataset, name: &str, value: &str| {
        let attribute = set.new_attr::<i8>().shape(()).create(name).unwrap();
        attribute.write_string(value).unwrap();
    };
    axis(
        "lat",
        &rows.iter().map(|&k| oracle.lat[k]).collect::<Vec<_>>(),
    );
    let lon = columns.iter().map(|&k| wrap(oracle.lon[k], low));
    axis("lon", &lon.collect::<Vec<_>>());
    let levels: Vec<f64> = (1..=n_levels).map(|k| 100.0 * k as f64).collect();
    axis("level", &levels);
    let (unit, per) = [("seconds", 1.0), ("hours", 3600.0), ("days", 86_400.0)][pick(3)];
    let since = oracle.times.iter().map(|&t| t as f64 / per);
    let time = axis("time", &since.collect::<Vec<_>>());
    text(&time, "units", &format!("{unit} since 1970-01-01"));
    let orders: [[usize; 4]; 4] = [[0, 1, 2, 3], [0, 1, 3, 2], [3, 2, 1, 0], [1, 0, 2, 3]];
    for (name, has_levels) in [("t2m", false), ("q", true)] {
        let mut order = orders[pick(4)].to_vec();
        order.retain(|&axis| has_levels || axis != 1);
        let sizes = [n_times, n_levels, n_lat, n_lon];
        let shape: Vec<usize> = order.iter().map(|&k| sizes[k]).collect();
        let mut values = Vec::new();
        for k in 0..shape.iter().product::<usize>() {
            let (mut rest, mut index) = (k, [0; 4]);
            for (&axis, &n) in order.iter().zip(&shape).rev() {
                index[axis] = rest % n;
                rest /= n;
            }
            let channel = if has_levels { 1 + index[1] } else { 0 };
            let field = &oracle.fields[index[0]][channel];
            values.push(field[rows[index[2]]][columns[index[3]]]);
        }
        if pick(2) == 0 {
            let set = file
                .new_dataset::<i16>()
                .shape(&shape)
                .create(name)
                .unwrap();
            let packed = values.iter().map(|x| ((x - 100.0) / 0.5).round() as i16);
            set.write_raw(&packed.collect::<Vec<_>>()).unwrap();
            for (name, value) in [("scale_factor", 0.5_f64), ("add_offset", 100.0)] {
                let attribute = set.new_attr::<f64>().shape([1]).create(name).unwrap();
                attribute.write_array(&[value]).unwrap();
            }
        } else {
            let set = file
                .new_dataset::<f64>()
                .shape(&shape)
                .create(name)
                .unwrap();
            set.write_raw(&values).unwrap();
        }
    }
    file.close().unwrap();
}

/// Random files against plain lists: values, axes, and windows that no gap crosses. More than 40
/// with `FITZROY_DIFFERENTIAL`.
#[test]
fn files_of_any_layout_are_read_as_plain_lists_say() {
    let wanted = std::env::var("FITZROY_DIFFERENTIAL").ok();
    let n = wanted.and_then(|n| n.parse().ok()).unwrap_or(40);
    for seed in 0..n {
        let path = Temporary::new(&format!("any-{seed}"));
        let oracle = random_file(&path, seed);
        let chosen = Chosen {
            variables: vec!["t2m".into(), "q".into()],
            levels: Vec::new(),
            ..Chosen::default()
        };
        let read = Archive::read(std::slice::from_ref(&path.0), &chosen, &Room::in_memory());
        let read = read.unwrap_or_else(|error| panic!("seed {seed}: {error}"));
        assert_eq!(read.lat, oracle.lat, "seed {seed}");
        let turns = read.lon[0] - oracle.lon[0];
        assert!(turns % 360.0 == 0.0, "seed {seed}: {:?}", read.lon);
        assert!(
            read.lon
                .iter()
                .zip(&oracle.lon)
                .all(|(a, b)| a - b == turns)
        );
        let times: Vec<i64> = read.times.iter().map(|t| t.0).collect();
        assert_eq!(times, oracle.times, "seed {seed}");
        let n_channels = oracle.fields[0].len();
        for (t, channels) in oracle.fields.iter().enumerate() {
            for (c, rows) in channels.iter().enumerate() {
                for (y, row) in rows.iter().enumerate() {
                    for (x, &value) in row.iter().enumerate() {
                        let node = y * oracle.lon.len() + x;
                        let found = read.record(t)[node * n_channels + c];
                        assert_eq!(f64::from(found), value, "seed {seed}: {t} {c} {y} {x}");
                    }
                }
            }
        }
        let steps = 1 + (seed as usize) % 3;
        let expected: Vec<u32> = (1..times.len())
            .filter(|t| {
                let wanted = |k: i64| times.get(*t).map(|now| now + k * 21_600);
                (-1..=steps as i64).all(|k| times.contains(&wanted(k).unwrap()))
            })
            .map(|t| t as u32)
            .collect();
        let (found, _) = crate::data::windows(&read, &(0..times.len()), steps);
        assert_eq!(found, expected, "seed {seed}");
    }
}

/// Two regions in one file are no grid; a seam without one is none either.
#[test]
fn holes_between_longitudes_or_latitudes_are_refused() {
    use super::longitudes::{eastward, whole};
    let error = eastward(&[0.0, 1.0, 2.0, 50.0, 51.0, 52.0]).unwrap_err();
    assert!(error.to_string().contains("between 2 and 50"), "{error}");
    let (lon, order, note) = eastward(&[0.0, 1.0, 2.0, 358.0, 359.0]).unwrap();
    assert_eq!(
        (lon, order),
        (vec![-2.0, -1.0, 0.0, 1.0, 2.0], vec![3, 4, 0, 1, 2])
    );
    assert!(note.unwrap().contains("0 to 359"));
    for bad in [
        &[3.0, 2.0, 1.0][..],
        &[2.0, 1.0],
        &[1.0, 1.0, 2.0],
        &[],
        &[f64::NAN, 1.0, 2.0, 3.0],
    ] {
        assert!(eastward(bad).is_err(), "{bad:?}");
    }
    let all: Vec<f64> = (0..360).map(f64::from).collect();
    assert_eq!(eastward(&all).unwrap().0, all);
    assert!(whole("latitude", &[10.0, 11.0, 12.0, 15.0]).is_err());
    // A grid that is stretched smoothly has none.
    assert!(whole("latitude", &[0.0, 1.0, 2.2, 3.6, 5.3, 7.4]).is_ok());
}

/// Regions of random grids, the whole globe included, against a search among all points.
#[test]
fn a_region_has_the_points_that_lie_in_it() {
    use super::longitudes::within;
    for seed in 0..400 {
        let mut pick = noise(seed);
        let n = 24 + pick(40);
        let step = 360.0 / n as f64;
        let low = [-180.0, 0.0, 20.0][pick(3)];
        let given: Vec<f64> = (0..n).map(|k| low + step * k as f64).collect();
        let west = pick(720) as f64 - 360.0;
        let width = 1.5 * step + pick(300) as f64;
        let region = Region {
            south: 0.0,
            north: 1.0,
            west,
            east: west + width.min(359.0),
        };
        let (lon, columns) = within(&given, &region).unwrap();
        let is_inside = |x: f64| {
            let turned = (-3..4).map(|turn| x + 360.0 * f64::from(turn));
            turned
                .into_iter()
                .any(|x| x >= west - 1e-9 && x <= region.east + 1e-9)
        };
        let mut all: Vec<usize> = (0..n).filter(|&k| is_inside(given[k])).collect();
        let mut found = columns.clone();
        all.sort_unstable();
        found.sort_unstable();
        assert_eq!(found, all, "seed {seed}");
        assert!(
            lon.windows(2).all(|p| (p[1] - p[0] - step).abs() < 1e-9),
            "seed {seed}: {lon:?}"
        );
        assert!(lon[0] >= west - 1e-6 && lon[lon.len() - 1] <= region.east + 1e-6);
        for (x, k) in lon.iter().zip(&columns) {
            let turns = (x - given[*k]) / 360.0;
            assert!((turns - turns.round()).abs() < 1e-9, "seed {seed}");
        }
    }
    let region = |west, east| Region {
        south: 0.0,
        north: 1.0,
        west,
        east,
    };
    let globe: Vec<f64> = (0..36).map(|k| 10.0 * f64::from(k)).collect();
    let (lon, _) = within(&globe, &region(350.0, 20.0)).unwrap();
    assert_eq!(lon, [350.0, 360.0, 370.0, 380.0]);
    let error = within(&[0.0, 1.0, 2.0], &region(100.0, 120.0)).unwrap_err();
    assert!(error.to_string().contains("go from 0 to 2"), "{error}");
}

#[test]
fn undeclared_fills_and_units_that_numbers_belie_are_named() {
    let path = Temporary::new("fills");
    let read = || {
        Archive::read_with_contents(
            std::slice::from_ref(&path.0),
            &Chosen::default(),
            &Room::in_memory(),
        )
    };
    for fill in [9.969_21e36_f32, 1e20, -9999.0, -32768.0] {
        written(&path, "K", fill);
        let error = read().unwrap_err().to_string();
        for part in [
            "TEM 850 hPa",
            "1 of 6",
            "1970-01-01T18:00",
            "11 N 0 E",
            "_FillValue",
        ] {
            assert!(error.contains(part), "{part}: {error}");
        }
    }
    written(&path, "K", 250.0);
    let (_, contents) = read().unwrap();
    assert!(contents.warnings().is_empty());
    assert!(
        contents.lines()[0].starts_with("uses TEM 500 hPa [K], 250"),
        "{:?}",
        contents.lines()
    );
    let channel = |variable: &str, level, units: &str| crate::data::Channel {
        variable: variable.into(),
        level,
        units: units.into(),
    };
    let wrong = |variable, level, units, mean: f64| {
        let spread = crate::data::Spread {
            min: mean - 5.0,
            mean,
            max: mean + 5.0,
        };
        crate::data::belied(&channel(variable, level, units), &spread)
    };
    assert!(
        wrong("TEM", Some(850.0), "K", 12.0)
            .unwrap()
            .contains("look like °C")
    );
    assert!(
        wrong("t2m", None, "degC", 285.0)
            .unwrap()
            .contains("look like K")
    );
    assert!(
        wrong("msl", None, "Pa", 1013.0)
            .unwrap()
            .contains("look like hPa")
    );
    assert!(
        wrong("GPH", Some(500.0), "m", 55_000.0)
            .unwrap()
            .contains("g times")
    );
    for (variable, level, units, mean) in [
        ("TEM", Some(850.0), "K", 280.0),
        ("GPH", Some(500.0), "m", 5600.0),
        ("msl", None, "Pa", 101_300.0),
        ("t2m", None, "", 12.0),
    ] {
        assert_eq!(wrong(variable, level, units, mean), None, "{variable}");
    }
}

/// An ensemble is refused with what to do.
#[test]
fn members_of_an_ensemble_must_be_picked() {
    let path = Temporary::new("ensemble");
    let file = H5File::create(&path.0).unwrap();
    let scale = |name: &str, values: &[f64], units: &str| {
        let set = file.new_dataset::<f64>().shape([values.len()]);
        let set = set.create(name).unwrap();
        set.write_raw(values).unwrap();
        set.set_scale(Some(name)).unwrap();
        let text = set.new_attr::<i8>().shape(()).create("units");
        text.and_then(|t| t.write_string(units)).unwrap();
        set
    };
    let axes = [
        scale("number", &[0.0, 1.0, 2.0], "1"),
        scale("time", &[0.0, 6.0, 12.0, 18.0], "hours since 2020-01-01"),
        scale("latitude", &[50.0, 51.0], "degrees_north"),
        scale("longitude", &[0.0, 1.0], "degrees_east"),
    ];
    let set = file.new_dataset::<f32>().shape([3, 4, 2, 2]).create("t2m");
    let set = set.unwrap();
    set.write_raw(&[280.0_f32; 48]).unwrap();
    for (axis, scale) in axes.iter().enumerate() {
        set.attach_scale(axis, scale).unwrap();
    }
    drop((axes, set));
    file.close().unwrap();
    let read = Archive::read(
        std::slice::from_ref(&path.0),
        &Chosen::default(),
        &Room::in_memory(),
    );
    let error = read.unwrap_err().to_string();
    for part in [
        "`t2m` of (number 3, time 4",
        "one place along number",
        "isel",
    ] {
        assert!(error.contains(part), "{error}");
    }
}
