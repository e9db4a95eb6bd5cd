//! `fitzroy plot` and `fitzroy report`, from a run to files.

mod program;

use program::{Scratch, repository};
use std::fs;

/// A short run on eight schools, in the folder `r`.
fn run(scratch: &Scratch) {
    let path = |file| repository(file).display().to_string();
    let (model, data) = (
        path("models/eight-schools.fz"),
        path("models/eight-schools.csv"),
    );
    let more = "--tune 200 --draws 200 --predictive --log-likelihood --no-report --quiet --out r";
    let mut args = vec!["sample", &model, "--data", &data];
    args.extend(more.split(' '));
    let said = scratch.fitzroy(&args);
    assert_eq!(said.code, 0, "{}{}", said.out, said.err);
    assert!(!scratch.0.join("r/report.html").exists());
}

#[test]
fn every_kind_is_drawn_in_every_format() {
    let scratch = Scratch::new("plot-kinds");
    run(&scratch);
    for kind in [
        "trace",
        "rank",
        "posterior",
        "forest",
        "pair",
        "energy",
        "autocorr",
        "ess",
        "ppc",
        "loo-pit",
        "khat",
        "parallel",
    ] {
        let file = format!("{kind}.svg");
        let said = scratch.fitzroy(&["plot", "r", "--kind", kind, "--out", &file]);
        assert_eq!(said.code, 0, "{kind}: {}", said.err);
        let text = fs::read_to_string(scratch.0.join(&file)).expect("it was just written");
        assert!(
            text.contains("<svg") && text.ends_with("</svg>\n"),
            "{kind}"
        );
    }
    for (file, magic) in [("t.png", &b"\x89PNG"[..]), ("t.pdf", b"%PDF")] {
        let args = [
            "plot", "r", "--kind", "trace", "--var", "mu", "--dark", "--out", file,
        ];
        assert_eq!(scratch.fitzroy(&args).code, 0);
        let bytes = fs::read(scratch.0.join(file)).expect("it was just written");
        assert!(bytes.starts_with(magic), "{file}");
    }
}

#[test]
fn bad_wishes_are_refused_with_what_to_do() {
    let scratch = Scratch::new("plot-refused");
    run(&scratch);
    scratch.file("there.png", "somebody's");
    for (args, part) in [
        ("plot r --kind trace --var teta", "theta"),
        ("plot r --kind trace --var theta[99]", "8 elements"),
        ("plot r --kind bars", "trace"),
        ("plot r --kind trace --out t.jpg", ".pdf"),
        ("plot r --kind trace --out there.png", "--overwrite"),
        ("plot r --kind trace --width 10", "300"),
        ("plot r --kind posterior --reference x", "not a number"),
        ("plot r --kind posterior --rope 2,1", "ascending"),
        ("plot r --kind prior-predictive", "--prior-only"),
        ("plot r r --kind trace", "2 traces"),
        ("plot nowhere.nc --kind trace", "nowhere.nc"),
        ("report nowhere.nc", "nowhere.nc"),
        ("report r --out there.png", "--overwrite"),
    ] {
        let words: Vec<&str> = args.split(' ').collect();
        let said = scratch.fitzroy(&words);
        assert_eq!(said.code, 2, "{args}: {}", said.err);
        assert!(said.err.contains(part), "{args}: {}", said.err);
    }
    let kept = fs::read_to_string(scratch.0.join("there.png")).expect("it is still there");
    assert_eq!(kept, "somebody's");
}

#[test]
fn a_folder_and_a_file_have_their_report() {
    let scratch = Scratch::new("plot-report");
    run(&scratch);
    for (args, file) in [
        (&["report", "r"][..], "r/report.html"),
        (&["report", "r"], "r/report.html"),
        (&["report", "r/trace.nc"], "r/trace-report.html"),
    ] {
        let said = scratch.fitzroy(args);
        assert_eq!(said.code, 0, "{}", said.err);
        let html = fs::read_to_string(scratch.0.join(file)).expect("it was just written");
        assert!(
            html.contains("Predictive checks") && html.contains("Pareto k"),
            "{file}"
        );
    }
}
