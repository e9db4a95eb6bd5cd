//! Shapes that people have.

use super::*;

/// Each is a shape of file that people have; what is found is told.
#[test]
fn shapes_that_people_have_are_read_and_told() {
    let scratch = Scratch::new("shapes");
    let cases: [(&str, &[u8], &str, &[&str]); 18] = [
        (
            "plain.csv",
            b"x,y\n1,2.5\n3,4\n",
            "x [1.0, 3.0] | y [2.5, 4.0]",
            &[],
        ),
        (
            "german.csv",
            b"Zeit;Wert\n0,5;1.234,5\n1,0;2\n",
            "Zeit [0.5, 1.0] | Wert [1234.5, 2.0]",
            &["cells are separated by `;`", "decimal commas in Zeit, Wert"],
        ),
        (
            "savetxt.txt",
            b"# t counts\n0.000e+00 5.0e+00\n1.000e+00 3.0e+00\n",
            "t [0.0, 1.0] | counts [5.0, 3.0]",
            &[
                "cells are separated by spaces",
                "names come from the comment in line 1",
                "lines that begin with `#` are left out",
            ],
        ),
        (
            "bare.dat",
            b"0 1\n1 2\n2 4\n",
            "x [0.0, 1.0, 2.0] | y [1.0, 2.0, 4.0]",
            &[
                "cells are separated by spaces",
                "there is no header: columns are called x, y (\u{27e8}header 1\u{27e9} if line 1 is one)",
            ],
        ),
        (
            "units.txt",
            b"time\tsignal\n(s)\t(mV)\n0\t1.5\n1\t2.5\n",
            "time [0.0, 1.0] | signal [1.5, 2.5]",
            &[
                "cells are separated by tabs",
                "line 2 is taken for units: (s), (mV)",
            ],
        ),
        (
            "block.csv",
            b"Instrument: X200\nDate: 2024-01-05, 10:00\n\nt,y\n0,1\n1,2\n",
            "t [0.0, 1.0] | y [1.0, 2.0]",
            &["lines 1 to 2 stand above the table and are left out"],
        ),
        (
            "padded.csv",
            b"Report,,\n,,\na,b,c\n1,2,3\n4,5,6\n",
            "a [1.0, 4.0] | b [2.0, 5.0] | c [3.0, 6.0]",
            &["lines 1 to 2 stand above the table and are left out"],
        ),
        (
            "from-r.txt",
            b"\"dose\" \"y\"\n\"1\" 0.5 2\n\"2\" 1.5 3\n",
            "dose [0.5, 1.5] | y [2.0, 3.0]",
            &["cells are separated by spaces"],
        ),
        (
            "eprime.txt",
            &utf16("C:\\data\\run1.edat2\r\nSubject\tRT\tResp\r\n1\t512\tleft\r\n1\t\tright\r\n"),
            "Subject [1.0, 1.0] | RT [512.0, NaN] | Resp [\"left\", \"right\"]",
            &[
                "the text is UTF-16",
                "cells are separated by tabs",
                "line 1 stands above the table and is left out",
            ],
        ),
        (
            "latin.csv",
            b"gr\xf6\xdfe,art\n1,\xd6l\n",
            "größe [1.0] | art [\"Öl\"]",
            &["the text is not UTF-8 and is read as Windows-1252"],
        ),
        (
            "late.csv",
            &[
                b"x,art\n".to_vec(),
                b"1,a\n".repeat(20_000),
                b"2,\xd6l\n".to_vec(),
            ]
            .concat(),
            "",
            &["the text is not UTF-8 and is read as Windows-1252"],
        ),
        (
            "mac.txt",
            b"x\ty\r1\t2\r3\t4\r",
            "x [1.0, 3.0] | y [2.0, 4.0]",
            &["cells are separated by tabs"],
        ),
        (
            "thousands.csv",
            b"place,people,share\nA,\"1,234\",0.5\nB,\"12,345\",0.25\n",
            "place [\"A\", \"B\"] | people [1234.0, 12345.0] | share [0.5, 0.25]",
            &["commas part thousands in people"],
        ),
        (
            "excel.csv",
            b"a,b\n1,#N/A\n#DIV/0!,2\n",
            "a [1.0, NaN] | b [NaN, 2.0]",
            &[],
        ),
        (
            "labels.csv",
            b"tag,y\n#1,2\n#2,3\n",
            "tag [\"#1\", \"#2\"] | y [2.0, 3.0]",
            &[],
        ),
        (
            "origin.txt",
            b"A\tB\nTime\tVoltage\ns\tmV\n0\t1\n1\t2\n2\t3\n3\t4\n",
            "A [\"Time\", \"s\", \"0\", \"1\", \"2\", \"3\"] | B [\"Voltage\", \"mV\", \"1\", \"2\", \"3\", \"4\"]",
            &[
                "cells are separated by tabs",
                "line 2 (Time, Voltage) holds words where numbers follow: say ⟨header 2⟩ if those are the names",
            ],
        ),
        (
            "named.txt",
            b"# t art\n0,5 left\n1,5 right\n",
            "t [0.5, 1.5] | art [\"left\", \"right\"]",
            &[
                "cells are separated by spaces",
                "names come from the comment in line 1",
                "lines that begin with `#` are left out",
                "decimal commas in t",
            ],
        ),
        (
            "pandas.csv",
            b",0,1\n0,1.5,2\n1,3.5,4\n",
            "0 [1.5, 3.5] | 1 [2.0, 4.0]",
            &[],
        ),
    ];
    for (name, content, want, remarks) in cases {
        let file = read(&scratch, name, content).unwrap();
        if !want.is_empty() {
            assert_eq!(shown(&file), want, "{name}");
        }
        let told: Vec<String> = remarks.iter().map(|r| format!("{name}: {r}")).collect();
        assert_eq!(file.remarks, told, "{name}");
    }
}

fn utf16(text: &str) -> Vec<u8> {
    let units = std::iter::once(0xfeff).chain(text.encode_utf16());
    units.flat_map(u16::to_le_bytes).collect()
}

/// Where two readings are possible nothing is guessed, and one sentence says how to choose.
#[test]
fn what_could_be_meant_otherwise_is_asked_for() {
    let scratch = Scratch::new("choices");
    let message = |name: &str, content: &str| read(&scratch, name, content.as_bytes()).unwrap_err();
    assert_eq!(
        message("a.csv", "y\n1,5\n2,5\n"),
        "a.csv: line 1 has no comma and the lines below have one: do commas separate cells, or digits? Say \
         ⟨delimiter comma⟩ or ⟨decimal comma⟩"
    );
    assert_eq!(
        message("b.csv", "A,1,2\nB,3,4\nC,5,6\n"),
        "b.csv: line 1 (A, 1, 2) may be a header or a row; say ⟨header 1⟩ if it has the names of the \
         columns, or ⟨header none⟩ if it is data"
    );
    assert!(message("c.csv", "0,1,2\n5,6,7\n").contains("counts the columns, or is a row"));
    assert!(message("d.txt", "*** Header Start ***\nVersionPersist: 1\n").contains("E-DataAid"));
    let note = |content: &str| {
        let file = read(&scratch, "n.csv", content.as_bytes()).unwrap();
        file.arrays[0].note.clone().unwrap()
    };
    assert_eq!(
        note("x;n\n1,234;1\n12,345;2\n"),
        "row 1: `1,234` may be 1.234 or 1234; say ⟨decimal comma⟩ or ⟨decimal point⟩"
    );
    assert_eq!(
        note("x;y\n1.234;0,5\n2.345;0,6\n"),
        "row 1: `1.234` may be 1.234 or 1234; say ⟨decimal comma⟩ or ⟨decimal point⟩"
    );
    assert_eq!(
        note("x;n\n1,5;1\n1.5;2\n"),
        "row 2: `1.5` has a decimal point, row 1: `1,5` a comma"
    );
    let said = |content: &str, options: TableOptions| {
        let file = read_with(&scratch, "s.csv", content.as_bytes(), &options);
        shown(&file.unwrap())
    };
    let decimal = |text: &str| TableOptions {
        decimal: Some(text.parse().unwrap()),
        ..TableOptions::default()
    };
    let header = |text: &str| TableOptions {
        header: Some(text.parse().unwrap()),
        ..TableOptions::default()
    };
    let table = "x;n\n1,234;1\n12,345;2\n";
    assert_eq!(
        said(table, decimal("comma")),
        "x [1.234, 12.345] | n [1.0, 2.0]"
    );
    assert_eq!(
        said(table, decimal("point")),
        "x [1234.0, 12345.0] | n [1.0, 2.0]"
    );
    assert_eq!(said("y\n1,5\n2,5\n", decimal("comma")), "y [1.5, 2.5]");
    let rows = "A,1\nB,3\nC,5\n";
    assert_eq!(said(rows, header("1")), "A [\"B\", \"C\"] | 1 [3.0, 5.0]");
    assert_eq!(
        said(rows, header("none")),
        "x [\"A\", \"B\", \"C\"] | y [1.0, 3.0, 5.0]"
    );
    let separator = TableOptions {
        separator: Some("comma".parse().unwrap()),
        header: Some("none".parse().unwrap()),
        ..TableOptions::default()
    };
    assert_eq!(
        said("y\n1,5\n2,5\n", separator),
        "x [1.0, 2.0] | y [5.0, 5.0]"
    );
    for wrong in ["semi", ";;", "\"", ""] {
        assert!(
            wrong.parse::<fitzroy::data::Separator>().is_err(),
            "{wrong}"
        );
    }
}
