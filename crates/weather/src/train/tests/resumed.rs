//! Runs that were stopped, and whether another goes on.

use super::*;

#[test]
fn a_run_that_was_stopped_goes_on_bit_for_bit_with_any_threads() {
    let problem = problem();
    let whole = Folder::new("whole");
    run(&problem, &settings(), None, &whole.0);
    let expected = last(&whole.0);
    for (threads, prefetch, readers, stop_at) in [(1, 4, 1, 11), (2, 0, 1, 4), (1, 3, 2, 7)] {
        let parts = Folder::new(&format!("parts{threads}{readers}"));
        let settings = Settings {
            threads,
            prefetch,
            readers,
            ..settings()
        };
        let first = Settings {
            max_steps: Some(stop_at),
            ..settings.clone()
        };
        run(&problem, &first, None, &parts.0);
        let checkpoint = last(&parts.0);
        assert_eq!(checkpoint.progress.step, stop_at);
        run(&problem, &settings, Some(checkpoint), &parts.0);
        let found = last(&parts.0);
        assert_eq!(found.progress.step, expected.progress.step);
        assert!(
            found.parameters == expected.parameters,
            "{threads} threads, prefetch {prefetch}"
        );
        assert!(found.m == expected.m && found.v == expected.v);
        assert!(found.average == expected.average);
    }
}

#[test]
fn a_damaged_checkpoint_gives_way_to_the_one_before() {
    let problem = problem();
    let folder = Folder::new("damaged");
    run(
        &problem,
        &Settings {
            max_steps: Some(10),
            ..settings()
        },
        None,
        &folder.0,
    );
    let files = newest(&folder.0);
    assert!(files.len() >= 2);
    let mut bytes = std::fs::read(&files[0]).unwrap();
    let middle = bytes.len() - 100;
    bytes[middle] ^= 1;
    std::fs::write(&files[0], &bytes).unwrap();
    for place in [folder.0.clone(), files[0].clone()] {
        let found = find(&place).unwrap();
        assert_eq!(found.path, files[1]);
        assert!(found.notes[0].contains("damaged"), "{:?}", found.notes);
    }
    bytes.truncate(100);
    std::fs::write(&files[1], &bytes).unwrap();
    assert!(find(&folder.0).unwrap_err().to_string().contains("damaged"));
}

#[test]
fn a_checkpoint_of_another_model_names_what_differs() {
    let problem = problem();
    let folder = Folder::new("other");
    run(
        &problem,
        &Settings {
            max_steps: Some(3),
            ..settings()
        },
        None,
        &folder.0,
    );
    let checkpoint = last(&folder.0);
    let other = problem_of(
        archive(60),
        Task::Forecast { boundary_width: 2 },
        GraphKind::Mesh,
    );
    let error = checkpoint
        .agree(&other.identity(), checkpoint.parameters.len())
        .unwrap_err();
    assert!(error.to_string().contains("task: "), "{error}");
    let mut changed = archive(60);
    changed.channels[1].variable = "V".into();
    let other = problem_of(
        changed,
        Task::Forecast { boundary_width: 1 },
        GraphKind::Mesh,
    );
    let error = checkpoint
        .agree(&other.identity(), checkpoint.parameters.len())
        .unwrap_err();
    assert!(error.to_string().contains("channels: "), "{error}");
}

fn written(folder: &Path) -> Vec<(String, Vec<u8>)> {
    let entries = std::fs::read_dir(folder).unwrap().flatten();
    let mut all: Vec<(String, Vec<u8>)> = entries
        .map(|e| {
            let name = e.file_name().to_string_lossy().into_owned();
            (name, std::fs::read(e.path()).unwrap())
        })
        .collect();
    all.sort();
    all
}

/// By its steps or by its epochs: what has ended stays as it is, byte for byte.
#[test]
fn a_finished_run_that_is_resumed_touches_nothing() {
    let problem = problem();
    for max_steps in [Some(9), None] {
        let folder = Folder::new("finished");
        let settings = Settings {
            max_steps,
            ..settings()
        };
        run(&problem, &settings, None, &folder.0);
        let before = written(&folder.0);
        for _ in 0..2 {
            let again = run(&problem, &settings, Some(last(&folder.0)), &folder.0);
            assert_eq!(again.ended, Ended::Finished);
            assert!(written(&folder.0) == before);
        }
        let more = Settings {
            n_epochs: 4,
            max_steps: max_steps.map(|n| n + 2),
            ..settings
        };
        let longer = run(&problem, &more, Some(last(&folder.0)), &folder.0);
        assert!(longer.progress.step > last_step(&before));
    }
}

fn last_step(files: &[(String, Vec<u8>)]) -> u64 {
    let steps = files.iter().filter_map(|(name, _)| {
        let step = name.strip_prefix("checkpoint-")?;
        step.strip_suffix(".safetensors")?.parse().ok()
    });
    steps.max().unwrap()
}

/// The same times with other numbers, and another loss: refused with what differs.
#[test]
fn other_data_and_another_loss_are_not_gone_on_with() {
    let problem = problem();
    let folder = Folder::new("other-data");
    let short = Settings {
        max_steps: Some(3),
        ..settings()
    };
    run(&problem, &short, None, &folder.0);
    let mut data = archive(60);
    data.values[5000] += 0.01;
    let mut other = problem_of(data, Task::Forecast { boundary_width: 1 }, GraphKind::Mesh);
    let error = resumed(&other, &short, &last(&folder.0)).unwrap_err();
    assert!(
        error.to_string().contains("records are other ones"),
        "{error}"
    );
    // What is only tested may change.
    let mut data = archive(60);
    let n = data.values.len();
    data.values[n - 1] += 0.01;
    other = problem_of(data, Task::Forecast { boundary_width: 1 }, GraphKind::Mesh);
    assert!(resumed(&other, &short, &last(&folder.0)).is_ok());
    other.weighting.loss = LossKind::Huber;
    let error = resumed(&other, &short, &last(&folder.0)).unwrap_err();
    assert!(
        error
            .to_string()
            .contains("loss: \"mse\" saved, \"huber\" here"),
        "{error}"
    );
}
