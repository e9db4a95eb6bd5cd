//! Sheets of workbooks.

use super::*;

/// A workbook with these sheets, as Excel writes one: some texts shared, some in their cells.
fn workbook(sheets: &[(&str, &str)], strings: &str) -> Vec<u8> {
    let mut zip = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    let mut put = |name: &str, text: &str| {
        zip.start_file(name, zip::write::SimpleFileOptions::default())
            .unwrap();
        zip.write_all(text.as_bytes()).unwrap();
    };
    let mut list = String::new();
    let mut relations = String::new();
    for (k, (name, cells)) in sheets.iter().enumerate() {
        let _ = write!(
            list,
            "<sheet name=\"{name}\" sheetId=\"{}\" r:id=\"rId{k}\"/>",
            k + 1
        );
        let _ = write!(
            relations,
            "<Relationship Id=\"rId{k}\" Target=\"worksheets/sheet{k}.xml\"/>"
        );
        let sheet =
            format!("<?xml version=\"1.0\"?><worksheet><sheetData>{cells}</sheetData></worksheet>");
        put(&format!("xl/worksheets/sheet{k}.xml"), &sheet);
    }
    put(
        "xl/workbook.xml",
        &format!("<workbook><sheets>{list}</sheets></workbook>"),
    );
    put(
        "xl/_rels/workbook.xml.rels",
        &format!("<Relationships>{relations}</Relationships>"),
    );
    put("xl/sharedStrings.xml", &format!("<sst>{strings}</sst>"));
    zip.finish().unwrap().into_inner()
}

#[test]
fn sheets_of_workbooks_are_tables() {
    let scratch = Scratch::new("workbook");
    let strings = "<si><t>time</t></si><si><r><t>sig</t></r><r><t xml:space=\"preserve\">nal &amp; more</t></r>\
                   <rPh><t>no</t></rPh></si>";
    let cells = "<row r=\"2\"><c r=\"B2\" t=\"s\"><v>0</v></c><c r=\"C2\" t=\"s\"><v>1</v></c></row>\
                 <row r=\"3\"><c r=\"B3\"><v>0.5</v></c><c r=\"C3\"><f>1/0</f><v>1.25E2</v></c></row>\
                 <row r=\"4\"><c r=\"B4\"><v>1</v></c><c r=\"C4\" t=\"e\"><v>#DIV/0!</v></c></row>\
                 <row r=\"5\"><c r=\"B5\" t=\"inlineStr\"><is><t>1,5</t></is></c></row>";
    let one = workbook(&[("Data", cells), ("Empty", "")], strings);
    let file = read(&scratch, "book.xlsx", &one).unwrap();
    assert_eq!(file.arrays[1].name, "signal & more");
    assert_eq!(
        file.arrays[0].note.as_deref(),
        Some("row 1: `0.5` has a decimal point, row 3: `1,5` a comma")
    );
    assert_eq!(file.arrays[1].missing, [1, 2]);
    let table = TableText::of_bytes(one.clone(), &TableOptions::default()).unwrap();
    assert_eq!(table.names()[1..], ["time", "signal & more"]);
    let small =
        "<row r=\"1\"><c t=\"inlineStr\"><is><t>y</t></is></c></row><row><c><v>7</v></c></row>";
    let two = workbook(&[("A", small), ("B & C", small)], strings);
    let error = read(&scratch, "two.xlsx", &two).unwrap_err();
    assert_eq!(
        error,
        "two.xlsx: which sheet? Name one with ⟨sheet⟩: A, B & C"
    );
    for sheet in ["A", "B & C", "2"] {
        let options = TableOptions {
            sheet: Some(sheet.into()),
            ..TableOptions::default()
        };
        let file = read_with(&scratch, "two.xlsx", &two, &options).unwrap();
        assert_eq!(shown(&file), "y [7.0]");
    }
    let options = TableOptions {
        sheet: Some("Z".into()),
        ..TableOptions::default()
    };
    let error = read_with(&scratch, "two.xlsx", &two, &options).unwrap_err();
    assert_eq!(
        error,
        "two.xlsx: ⟨sheet Z⟩: there is no such sheet; the workbook has A, B & C"
    );
    let far = "<row r=\"1048576\"><c r=\"XFD1048576\"><v>1</v></c></row>";
    let error = read(&scratch, "far.xlsx", &workbook(&[("A", far)], strings)).unwrap_err();
    assert!(
        error.contains("a cell in row 1048576, column 16384"),
        "{error}"
    );
    assert!(
        read(&scratch, "no.xlsx", b"PK")
            .unwrap_err()
            .contains("not a readable .xlsx")
    );
    for n in (0..one.len()).step_by(7) {
        let mut bad = one.clone();
        bad[n] ^= 1 << (n % 8);
        let _ = read(&scratch, "bad.xlsx", &bad);
        let _ = read(&scratch, "cut.xlsx", &one[..n]);
    }
}

/// A short file that unpacks to more than 1 GiB and 100 times its size is refused.
#[test]
fn archives_made_to_fill_memory_are_refused() {
    let scratch = Scratch::new("bombs");
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    encoder.write_all(b"x\n").unwrap();
    let zeros = b"0\n".repeat(1 << 20);
    for _ in 0..520 {
        encoder.write_all(&zeros).unwrap();
    }
    let bomb = encoder.finish().unwrap();
    let error = read(&scratch, "bomb.csv.gz", &bomb).unwrap_err();
    assert!(error.contains("100 times its size"), "{error}");
    let error = read(&scratch, "cut.csv.gz", &gzip(b"x\n1\n")[..20]).unwrap_err();
    assert!(
        error.contains("the gzip data are damaged or cut short"),
        "{error}"
    );
    let error = read(&scratch, "cut.csv.zst", b"(\xb5/\xfd\x04").unwrap_err();
    assert!(
        error.contains("the zstd data are damaged or cut short"),
        "{error}"
    );
}
