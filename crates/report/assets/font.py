"""Makes the embedded fonts from Inter 4.0 (Debian package fonts-inter, OFL-1.1, see Inter-LICENSE.txt).

    apt-get download fonts-inter && dpkg-deb -x fonts-inter_*.deb x
    python font.py x/usr/share/fonts/opentype/inter

Needs fonttools and brotli. Keeps Latin, Greek and the signs of mathematics; gives all digits one
width, so that columns of numbers stand straight; turns cubic outlines into TrueType ones, which
every PDF reader takes; drops layout tables, so that a text is as wide as the sum of its letters.
"""

import sys
from pathlib import Path

from fontTools.fontBuilder import FontBuilder
from fontTools.pens.cu2quPen import Cu2QuPen
from fontTools.pens.ttGlyphPen import TTGlyphPen
from fontTools.subset import Options, Subsetter
from fontTools.ttLib import TTFont

HERE = Path(__file__).parent
RANGES = [(0x20, 0x7E), (0xA0, 0x17F), (0x370, 0x3FF)]
SIGNS = (
    "ẑ˜ˆ‐‑‒–—―‘’“”„†‡•…‰′″‹›⁄⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁼⁽⁾ⁿ₀₁₂₃₄₅₆₇₈₉₊₋₌₍₎€№™←↑→↓↔∂∆∈∏∑−∓∕∗∙√∞∫≈≠≡≤≥⊂◊●○■□▲△▼▽◆◇✓✗"
)


def subset(path, flavour):
    font = TTFont(path)
    cmap = font.getBestCmap()
    tabular = {}
    for record in font["GSUB"].table.FeatureList.FeatureRecord:
        if record.FeatureTag == "tnum":
            for index in record.Feature.LookupListIndex:
                for table in font["GSUB"].table.LookupList.Lookup[index].SubTable:
                    tabular.update(getattr(table, "ExtSubTable", table).mapping)
    for table in font["cmap"].tables:
        for code in list(table.cmap):
            if chr(code) in "0123456789" and table.cmap[code] in tabular:
                table.cmap[code] = tabular[table.cmap[code]]
    codes = {c for low, high in RANGES for c in range(low, high + 1)} | {ord(c) for c in SIGNS}
    options = Options()
    options.layout_features = []
    options.drop_tables += ["GSUB", "GPOS", "GDEF", "STAT", "DSIG", "meta"]
    options.name_IDs = [0, 1, 2, 3, 4, 5, 6, 13, 14]
    options.notdef_outline = True
    options.hinting = False
    subsetter = Subsetter(options)
    subsetter.populate(unicodes=sorted(codes & set(cmap)))
    subsetter.subset(font)
    return quadratic(font), flavour


def quadratic(font):
    """The same font with TrueType outlines, within a thousandth of an em."""
    order, glyphs = font.getGlyphOrder(), {}
    source = font.getGlyphSet()
    for name in order:
        pen = TTGlyphPen(None)
        source[name].draw(Cu2QuPen(pen, font["head"].unitsPerEm / 1000, reverse_direction=True))
        glyphs[name] = pen.glyph()
    builder = FontBuilder(font["head"].unitsPerEm, isTTF=True)
    builder.setupGlyphOrder(order)
    builder.setupCharacterMap(font.getBestCmap())
    builder.setupGlyf(glyphs)
    advance = {n: font["hmtx"][n][0] for n in order}
    cmap = font.getBestCmap()
    # The designer's digits of one width differ by a thousandth after interpolation.
    advance.update({cmap[ord(d)]: advance[cmap[ord("0")]] for d in "0123456789"})
    builder.setupHorizontalMetrics(
        {n: (advance[n], getattr(glyphs[n], "xMin", 0)) for n in order}
    )
    hhea, os2 = font["hhea"], font["OS/2"]
    builder.setupHorizontalHeader(ascent=hhea.ascent, descent=hhea.descent)
    builder.setupOS2(
        sTypoAscender=os2.sTypoAscender,
        sTypoDescender=os2.sTypoDescender,
        usWinAscent=os2.usWinAscent,
        usWinDescent=os2.usWinDescent,
        usWeightClass=os2.usWeightClass,
        sCapHeight=os2.sCapHeight,
        sxHeight=os2.sxHeight,
    )
    builder.setupPost(keepGlyphNames=False)
    builder.font["name"] = font["name"]
    builder.font["head"].created = builder.font["head"].modified = 0
    return builder.font


def main(folder):
    for name, source in [("regular", "Inter-Regular"), ("bold", "Inter-SemiBold")]:
        font, _ = subset(f"{folder}/{source}.otf", None)
        font.recalcTimestamp = False
        font.save(HERE / f"inter-{name}.ttf")
        font.flavor = "woff2"
        font.save(HERE / f"inter-{name}.woff2")


if __name__ == "__main__":
    main(sys.argv[1])
