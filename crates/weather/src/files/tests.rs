//! Files as other programs write them, made with the HDF5 crate.

use super::*;
use crate::data::{Archive, Chosen};
use crate::time::Time;
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
    let archive = Archive::read(std::slice::from_ref(&path.0), &Chosen::default(), None).unwrap();
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
        Archive::read(std::slice::from_ref(&path.0), chosen, None)
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
    };
    assert!(read(&path, &chosen).contains("`sst` is missing"));
    let few = Archive::read(std::slice::from_ref(&path.0), &Chosen::default(), Some(10));
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
        times: (0..5).map(|k| Time(k * 21_600)).collect(),
        levels: vec![500.0, 850.0],
        lat: vec![10.0, 11.0, 12.0],
        lon: vec![0.0, 1.0],
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
    let archive = Archive::read(std::slice::from_ref(&path.0), &Chosen::default(), None).unwrap();
    assert_eq!(archive.channels.len(), 2);
    // Node 1, both levels.
    assert_eq!(&archive.record(2)[2..4], [250.0 + 25.0, 250.0 + 31.0]);
    assert_eq!(archive.times[4], Time(4 * 21_600));
    let chosen = Chosen {
        variables: vec!["TEM".into()],
        levels: vec![850.0],
    };
    let one = Archive::read(std::slice::from_ref(&path.0), &chosen, None).unwrap();
    assert_eq!(one.record(2)[1], 250.0 + 31.0);
}

#[test]
fn holes_and_units_are_named_with_their_place() {
    let path = Temporary::new("holes");
    let read = || {
        Archive::read(std::slice::from_ref(&path.0), &Chosen::default(), None)
            .unwrap_err()
            .to_string()
    };
    written(&path, "K", f32::NAN);
    let message = read();
    assert!(
        message.contains("TEM 850 hPa has 1 of 6") && message.contains("1970-01-01T18:00"),
        "{message}"
    );
    written(&path, "degC", 1.0);
    assert!(read().contains("in `degC`, needed is K"));
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
    let read = Archive::read(&[out], &Chosen::default(), None).unwrap();
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
