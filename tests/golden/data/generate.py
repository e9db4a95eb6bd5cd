"""Writes small NumPy files and, in expected.json, what NumPy says is in them.

Run with: python generate.py   (NumPy 2.4)
"""

import gzip
import json
from pathlib import Path

import numpy as np

HERE = Path(__file__).parent


def values(array):
    """The elements, row-major, as JSON can hold them exactly."""
    if array.dtype.kind in "US":
        return [x.decode() if isinstance(x, bytes) else str(x) for x in array.ravel().tolist()]
    return [repr(float(x)) for x in array.ravel().tolist()]


def main():
    base = np.array([[0, 1, 2], [3, 100, 5]])
    arrays = {}
    for code in ("<i2", ">i2", "<i4", ">i4", "<i8", ">i8", "u1", "<u2", ">u4", "<u8", ">u8"):
        arrays[code] = base.astype(code)
    arrays["i1"] = np.array([-128, 127, 0], dtype="i1")
    arrays["<i8"] = np.array([-(2**53), 2**53, -1], dtype="<i8")
    real = np.array([[0.1, -2.5e-3], [1e10, np.inf], [np.nan, -0.0]])
    for code in ("<f4", ">f4", "<f8", ">f8"):
        arrays[code] = real.astype(code)
    arrays["<f2"] = np.array([0.5, -65504.0, 6e-8, 1.0 / 3.0, np.inf], dtype="<f2")
    arrays["b1"] = np.array([True, False, True])
    arrays["<U5"] = np.array([["Köln", "a"], ["東京", "bcdef"]])
    arrays[">U3"] = np.array(["xyz", "é"], dtype=">U3")
    arrays["S4"] = np.array([b"ab", b"cdef"])
    arrays["fortran"] = np.asfortranarray(np.arange(24.0).reshape(2, 3, 4))
    arrays["scalar"] = np.array(7.25)
    arrays["empty"] = np.zeros((0, 3))

    expected = {}
    for i, (code, array) in enumerate(arrays.items()):
        np.save(HERE / f"array{i:02}.npy", array)
        expected[f"array{i:02}"] = {
            "dtype": code,
            "shape": list(array.shape),
            "text": array.dtype.kind in "US",
            "whole": array.dtype.kind in "iub",
            "values": values(array),
        }
    np.savez(HERE / "stored.npz", x=base, names=np.array(["p", "q"]))
    np.savez_compressed(HERE / "deflated.npz", x=base, y=real)
    np.save(HERE / "records.npy", np.zeros(2, dtype=[("a", "i4"), ("b", "f8")]))
    np.save(HERE / "objects.npy", np.array([None, "x"], dtype=object))
    np.save(HERE / "dates.npy", np.array(["2020-01-01"], dtype="M8[D]"))
    with open(HERE / "eight_schools.json.gz", "wb") as file:
        text = {"J": 8, "y": [28, 8, -3, 7, -1, 1, 18, 12], "sigma": [15, 10, 16, 11, 9, 11, 10, 18]}
        with gzip.GzipFile(fileobj=file, mode="wb", mtime=0) as gz:
            gz.write(json.dumps(text).encode())
    (HERE / "expected.json").write_text(json.dumps(expected, indent=1, ensure_ascii=False) + "\n")


def workbook(path):
    """A workbook as Excel writes one, of two sheets, the second of them empty."""
    import zipfile

    text = "<si><t>time</t></si><si><t>signal &amp; noise</t></si>"
    cells = "".join(
        f'<row r="{i + 2}"><c r="A{i + 2}"><v>{i / 2}</v></c><c r="B{i + 2}"><v>{i * i}</v></c></row>' for i in range(6)
    )
    head = '<row r="1"><c r="A1" t="s"><v>0</v></c><c r="B1" t="s"><v>1</v></c></row>'
    sheets = ["Data", "Empty"]
    listed = "".join(f'<sheet name="{n}" sheetId="{k + 1}" r:id="rId{k}"/>' for k, n in enumerate(sheets))
    linked = "".join(f'<Relationship Id="rId{k}" Target="worksheets/sheet{k}.xml"/>' for k in range(2))
    files = {
        "xl/workbook.xml": f"<workbook><sheets>{listed}</sheets></workbook>",
        "xl/_rels/workbook.xml.rels": f"<Relationships>{linked}</Relationships>",
        "xl/sharedStrings.xml": f"<sst>{text}</sst>",
        "xl/worksheets/sheet0.xml": f"<worksheet><sheetData>{head}{cells}</sheetData></worksheet>",
        "xl/worksheets/sheet1.xml": "<worksheet><sheetData/></worksheet>",
    }
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as z:
        for name, content in files.items():
            z.writestr(zipfile.ZipInfo(name), content, zipfile.ZIP_DEFLATED)


if __name__ == "__main__":
    main()
    workbook(HERE / "book.xlsx")
