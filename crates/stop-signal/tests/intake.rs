//! Studies as laboratories have them: each shape is read, or refused with what to do.
#![allow(clippy::unwrap_used)]

use fitzroy_stop_signal::data::{Options, Study, parse};
use fitzroy_stop_signal::exclude::Rules;
use fitzroy_stop_signal::layout::Layout;

/// Two children of six trials each, in the program's own layout.
const PLAIN: &str = "subject,stimulus,response,rt,ssd\n\
    a,left,left,0.512,\na,right,left,0.6,\na,left,none,,\na,right,right,0.45,0.2\na,left,none,,0.25\na,left,left,0.7,\n\
    b,right,right,0.4,\nb,right,right,0.5,\nb,left,left,0.6,\nb,left,left,0.55,0.1\nb,left,none,,0.15\nb,left,left,0.7,\n";

fn options(layout: &str) -> Options {
    Options {
        fits: false,
        layout: Layout::default().read(layout).unwrap(),
        ..Options::default()
    }
}

fn plain() -> Study {
    let options = Options {
        fits: false,
        ..Options::default()
    };
    parse(PLAIN.as_bytes(), "plain.csv", &options).unwrap()
}

/// The trials of `text` are those of [`PLAIN`].
#[track_caller]
fn check(text: &[u8], options: &Options) -> Study {
    let (got, want) = (parse(text, "study", options).unwrap(), plain());
    assert_eq!(got.subjects, want.subjects);
    assert_eq!(got.rows.len(), want.rows.len());
    for (g, w) in got.rows.iter().zip(&want.rows) {
        let (a, b) = (g.trial, w.trial);
        let close = |x: f64, y: f64| x == y || (x - y).abs() < 1e-12 || x.is_nan() && y.is_nan();
        assert!(
            (g.subject, a.stimulus, a.response) == (w.subject, b.stimulus, b.response)
                && close(a.rt, b.rt)
                && close(a.ssd, b.ssd),
            "{g:?} for {w:?}"
        );
    }
    got
}

#[track_caller]
fn refused(text: &str, options: &Options, parts: &[&str]) {
    let error = parse(text.as_bytes(), "study", options)
        .unwrap_err()
        .to_string();
    for part in parts {
        assert!(error.contains(part), "no `{part}` in: {error}");
    }
}

/// `PLAIN` with its cells changed, by column name.
fn changed(change: &dyn Fn(&str, &str) -> String) -> String {
    let mut lines = PLAIN.lines();
    let names: Vec<&str> = lines.next().unwrap().split(',').collect();
    let mut out = names.join(",") + "\n";
    for line in lines {
        let cells = line.split(',').zip(&names);
        let cells: Vec<String> = cells.map(|(cell, name)| change(name, cell)).collect();
        out += &(cells.join(",") + "\n");
    }
    out
}

fn times(factor: f64) -> impl Fn(&str) -> String {
    move |cell: &str| match cell.parse::<f64>() {
        Ok(x) => format!("{}", (x * factor * 1e6).round() / 1e6),
        Err(_) => cell.into(),
    }
}

#[test]
fn one_semicolons_and_decimal_commas() {
    let text = PLAIN.replace(',', ";").replace("0.", "0,");
    check(text.as_bytes(), &options("{}"));
}

#[test]
fn two_tabs_in_utf16_below_the_line_of_an_export() {
    let text = format!(
        "C:\\study\\merged.emrg3\r\n{}",
        PLAIN.replace(',', "\t").replace('\n', "\r\n")
    );
    let units = std::iter::once(0xfeff).chain(text.encode_utf16());
    let bytes: Vec<u8> = units.flat_map(u16::to_le_bytes).collect();
    let study = check(&bytes, &options("{}"));
    let told = [
        "the text is UTF-16",
        "cells are separated by tabs",
        "line 1 stands above the table and is left out",
    ];
    assert_eq!(study.remarks, told);
    assert_eq!(study.report()["table"][2], told[2]);
}

#[test]
fn three_columns_of_other_names_with_codes_and_units_of_their_own() {
    let text = changed(&|name, cell| match (name, cell) {
        ("stimulus", side) => if side == "left" { "1" } else { "2" }.into(),
        ("response", "none") => "9".into(),
        ("response", side) => if side == "left" { "100" } else { "115" }.into(),
        ("rt", cell) => times(1000.0)(cell),
        _ => cell.into(),
    });
    let text = text.replace("subject,stimulus,response,rt,ssd", "ID,Pic,Key,Go.RT,Delay");
    let layout = "columns: {subject: ID, stimulus: Pic, response: Key, rt: Go.RT, ssd: Delay}\n\
                  codes:\n  stimulus: {left: 1, right: 2}\n  response: {none: [9], left: 100, right: [115]}\n\
                  units: {rt: ms, ssd: s}\n";
    check(text.as_bytes(), &options(layout));
    refused(
        &text,
        &options("{}"),
        &[
            "column subject, stimulus",
            "the header has ID, Pic",
            "⟨columns subject=COLUMN⟩",
        ],
    );
}

#[test]
fn four_codes_that_a_spreadsheet_made_fractions() {
    let text = changed(&|name, cell| match (name, cell) {
        ("stimulus", side) => if side == "left" { "0.0" } else { "1.0" }.into(),
        ("response", "none") => "0.0".into(),
        ("response", side) => if side == "left" { "1.0" } else { "2.00" }.into(),
        _ => cell.into(),
    });
    check(text.as_bytes(), &options("{}"));
}

#[test]
fn five_blanks_and_words_for_nothing() {
    for nothing in ["", "NA", "n/a", "NaN", "None", "<NA>", "No response"] {
        let text = changed(&|name, cell| match (name, cell) {
            ("response", "none") => nothing.into(),
            ("rt" | "ssd", "") => if nothing.contains(['o', 'O']) {
                ""
            } else {
                nothing
            }
            .into(),
            _ => cell.into(),
        });
        check(text.as_bytes(), &options("{}"));
    }
}

/// Trial types as text, in capitals of any kind, with delays on go trials.
#[test]
fn six_trial_types_as_words_and_the_delay_of_the_staircase_on_go_trials() {
    let mut text = String::from("subject,stimulus,response,rt,ssd,trial_type\n");
    for line in PLAIN.lines().skip(1) {
        text += &match line.ends_with(',') {
            true => format!("{line}0.25,GoTrial\n"),
            false => format!("{line},VariableStopTrial\n"),
        };
    }
    let study = check(text.as_bytes(), &options("ssd_on_go: ignore"));
    assert!(study.warnings[0].starts_with("8 go trials hold an ssd, which is ignored"));
    assert_eq!(
        (study.counted[0].trials, study.counted[0].first_row),
        (8, 1)
    );
    refused(
        &text,
        &options("{}"),
        &["row 1: a go trial with ssd 0.25", "⟨ssd_on_go ignore⟩"],
    );
    let odd = text.replace("GoTrial", "Fixation");
    refused(
        &odd,
        &options("{}"),
        &[
            "trial_type is `Fixation`",
            "go or gotrial",
            "for go",
            "⟨columns⟩",
        ],
    );
    let left_out = "[codes.trial_type]\ngo = [\"GoTrial\"]\nstop = [\"VariableStopTrial\"]\nleave_out = [\"Fixation\"]\n";
    let few = parse(odd.as_bytes(), "study", &options(left_out)).unwrap();
    assert_eq!((few.rows.len(), few.counted[0].trials), (4, 8));
}

#[test]
fn seven_codes_for_no_delay_and_no_time() {
    let text = changed(&|name, cell| match (name, cell) {
        ("ssd", "") => "-1".into(),
        ("rt", "") => "-999".into(),
        _ => cell.into(),
    });
    let layout = "[codes.ssd]\nnone = [-1]\n[codes.rt]\nnone = [-999, 0]\n";
    check(text.as_bytes(), &options(layout));
    refused(&text, &options("{}"), &["ssd is -1", "[codes.ssd]"]);
}

#[test]
fn eight_premature_and_anticipated_responses() {
    let text = PLAIN.to_string() + "b,left,left,-0.2,\nb,left,left,0.05,\nb,left,left,0.5,\n";
    refused(
        &text,
        &options("{}"),
        &["row 13: rt is -0.2", "⟨premature drop⟩"],
    );
    let study = parse(text.as_bytes(), "study", &options("premature: drop")).unwrap();
    assert_eq!(study.rows.len(), 13);
    let counted: Vec<&str> = study.counted.iter().map(|c| c.what.as_str()).collect();
    let want = [
        "premature responses (rt not above 0) are left out",
        "responses outside 0.15 to 2 s are left out",
    ];
    assert_eq!(counted, want);
    assert_eq!(study.report()["counted"][0]["first_row"], 13);
}

#[test]
fn nine_empty_rows_of_a_spreadsheet_and_subjects_as_numbers() {
    let text = changed(&|name, cell| match (name, cell) {
        ("subject", "a") => "17.0".into(),
        ("subject", _) => "18.0".into(),
        _ => cell.into(),
    }) + ",,,,\n,,,,\n";
    let study = parse(text.as_bytes(), "study", &options("{}")).unwrap();
    assert_eq!(
        (study.subjects, study.rows.len(), study.n_read),
        (vec!["17".into(), "18".into()], 12, 14)
    );
    assert!(study.warnings[0].starts_with("2 empty rows are left out (first: row 13)"));
}

#[test]
fn ten_milliseconds_that_were_not_said() {
    let text = changed(&|name, cell| match name {
        "rt" | "ssd" => times(1000.0)(cell),
        _ => cell.into(),
    });
    refused(
        &text,
        &options("{}"),
        &["are times in milliseconds? Then add ⟨unit ms⟩"],
    );
    check(text.as_bytes(), &options("units: {rt: ms, ssd: ms}"));
    let both = Options {
        unit_s: 0.001,
        ..options("{}")
    };
    check(text.as_bytes(), &both);
}

#[test]
fn eleven_what_the_abcd_study_publishes() {
    let mut text = String::from(
        "subject,eventname,sst_run,sst_expcon,sst_stim,sst_primaryresp,sst_primaryrt,sst_ssd_dur,sst_inhibitacc\n",
    );
    for line in PLAIN.lines().skip(1) {
        let cells: Vec<&str> = line.split(',').collect();
        let arrow = |side: &str| {
            if side == "none" {
                String::new()
            } else {
                format!("{side}_arrow")
            }
        };
        let kind = if cells[4].is_empty() {
            "GoTrial"
        } else {
            "VariableStopTrial"
        };
        let (rt, ssd) = (times(1000.0)(cells[3]), times(1000.0)(cells[4]));
        let (stimulus, response) = (arrow(cells[1]), arrow(cells[2]));
        text += &format!(
            "{},baseline_year_1_arm_1,1,{kind},{stimulus},{response},{rt},{ssd},\n",
            cells[0]
        );
    }
    let abcd = Options {
        fits: false,
        layout: Layout::profile("abcd").unwrap(),
        ..Options::default()
    };
    let study = parse(text.as_bytes(), "study", &abcd).unwrap();
    assert_eq!(
        study.subjects,
        ["a:baseline_year_1_arm_1", "b:baseline_year_1_arm_1"]
    );
    let bare = text.replace("eventname", "event");
    check(bare.as_bytes(), &abcd);
    let other = text.replace("left_arrow", "up_arrow");
    refused(
        &other,
        &abcd,
        &["sst_stim is `up_arrow`", "left_arrow for left"],
    );
    refused(PLAIN, &abcd, &["column sst_stim, sst_primaryresp"]);
}

#[test]
fn twelve_logs_that_are_no_tables_and_files_of_one_column() {
    let log = "*** Header Start ***\r\nVersionPersist: 1\r\nSubject: 3\r\n*** Header End ***\r\n";
    refused(
        log,
        &options("{}"),
        &["a log of E-Prime and no table", "E-DataAid"],
    );
    refused(
        "",
        &options("{}"),
        &["the file is empty", "subject,stimulus,response,rt,ssd"],
    );
    refused(
        "subject\na\nb\n",
        &options("{}"),
        &["column stimulus, response, rt, ssd is missing"],
    );
    refused(
        &PLAIN.replace("0.7,", "0.7"),
        &options("{}"),
        &["line 7 has 4 cells, the header has 5"],
    );
}

#[test]
fn thirteen_rules_leave_out_subjects_and_say_so() {
    let with = |rules: Rules| Options {
        rules,
        ..options("{}")
    };
    let read = |rules: Rules| parse(PLAIN.as_bytes(), "study", &with(rules)).unwrap();
    let study = read(Rules {
        min_accuracy: Some(0.9),
        ..Rules::default()
    });
    assert_eq!(study.subjects, ["b"]);
    assert!(study.rows.iter().all(|r| r.subject == 0) && study.rows.len() == 6);
    assert_eq!(
        study.warnings,
        ["left out 1 subject with go accuracy below 0.9: a (0.667)"]
    );
    assert_eq!(study.report()["excluded_subjects"][0]["found"], "0.667");
    let omissions = read(Rules {
        max_omissions: Some(0.1),
        ..Rules::default()
    });
    assert_eq!(omissions.subjects, ["b"]);
    let race = read(Rules {
        race: true,
        ..Rules::default()
    });
    // b answers stop trials after 0.55 s and go trials after 0.55 s in the mean: no violation.
    assert_eq!(race.subjects, ["a", "b"]);
    let slow = PLAIN.replace("b,left,left,0.55,0.1", "b,left,left,0.56,0.1");
    let rules = with(Rules {
        race: true,
        ..Rules::default()
    });
    let race = parse(slow.as_bytes(), "study", &rules).unwrap();
    assert_eq!(race.excluded[0].found, "0.560 s against 0.550 s");
    let nobody = with(Rules {
        min_go: Some(100),
        ..Rules::default()
    });
    refused(
        PLAIN,
        &nobody,
        &[
            "no subject is left",
            "fewer than 100 go trials: a (4), b (4)",
        ],
    );
    let few = with(Rules {
        min_stop: Some(3),
        stop_responses: Some((0.25, 0.75)),
        ..Rules::default()
    });
    refused(PLAIN, &few, &["fewer than 3 stop trials"]);
}

/// Catches: a layout in the documentation that the program would refuse.
#[test]
fn the_layout_of_the_documentation_is_read() {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/stop-signal.md");
    let text = std::fs::read_to_string(page).unwrap();
    let layout = text.split_once("```toml\n").unwrap().1;
    let layout = layout.split_once("```").unwrap().0;
    let text = "ParticipantID,Visit,Picture,Key,Go.RT,SSD,Procedure\n\
                7,2,1,f,512,0.2,GoTrial\n7,2,2,9,,0.2,StopTrial\n7,2,1,j,,,Practice\n7,2,2,115,-3,-1,GoTrial\n";
    let study = parse(text.as_bytes(), "study", &options(layout)).unwrap();
    assert_eq!(
        (study.subjects, study.rows.len()),
        (vec!["7:2".to_string()], 2)
    );
    assert_eq!(study.rows[0].trial.rt, 0.512);
    assert_eq!(study.rows[1].trial.ssd, 0.2);
}
