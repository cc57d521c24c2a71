#!/usr/bin/env python3
"""Write the pages of the built book as an EPUB, `taper.epub` beside them, and link it on the home page, for each language.

    epub.py book/output/html        as `cargo taper book build --epub` does

EPUB needs XHTML: a page's text is written again, without what only a browser uses. Exit status: 1 if a page does not
become well-formed, or has a formula that is not valid MathML.
"""

import posixpath
import re
import sys
from html import escape
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit
from xml.etree import ElementTree
from zipfile import ZIP_DEFLATED, ZIP_STORED, ZipFile

NAME = "taper.epub"
LINKS = {"en": "the whole course as EPUB", "fr": "tout le cours en EPUB", "zh": "整个课程的 EPUB"}
VOID = {"br", "col", "hr", "img", "input", "wbr"}
# What only a browser uses: KaTeX writes the same formula beside its MathML, and links lead to files of the site.
LEFT_OUT = {"script", "button", "nav", "footer", "template", "link"}
LEFT_OUT_CLASSES = {"katex-html", "actions", "digit-reader", "controls"}
IMAGES = {".svg": "image/svg+xml", ".png": "image/png", ".jpg": "image/jpeg", ".gif": "image/gif"}
NAMESPACES = {"math": "http://www.w3.org/1998/Math/MathML", "svg": "http://www.w3.org/2000/svg"}
XHTML = "application/xhtml+xml"
CONTAINER = """<?xml version="1.0" encoding="UTF-8"?>
<container version="1.0" xmlns="urn:oasis:names:tc:opendocument:xmlns:container">
<rootfiles><rootfile full-path="package.opf" media-type="application/oebps-package+xml"/></rootfiles>
</container>
"""


class Contents(HTMLParser):
    """The pages in the order of the book, with their titles, from the list that mdBook writes."""

    def __init__(self, root: Path) -> None:
        super().__init__()
        self.titles: dict[str, str] = {}
        self.page = ""
        self.feed((root / "toc.html").read_text())

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        if tag == "a":
            link = unquote(dict(attributes).get("href") or "")
            self.page = link if link.endswith(".html") and link not in self.titles else ""

    def handle_endtag(self, tag: str) -> None:
        self.page = "" if tag == "a" else self.page

    def handle_data(self, text: str) -> None:
        if self.page:
            self.titles[self.page] = " ".join((self.titles.get(self.page, "") + text).split())


class Text(HTMLParser):
    """The text of a page as XHTML."""

    def __init__(self, root: Path, page: str, pages: set[str], images: set[str]) -> None:
        super().__init__()
        self.root, self.page, self.pages, self.images = root, page, pages, images
        self.written: list[str] = []
        # The open elements of the text, each with whether it is written.
        self.open: list[tuple[str, bool]] = []
        self.skipped = 0
        self.in_main = False
        self.feed((root / page).read_text())

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        names = dict(reversed(attributes))
        if tag == "main":
            self.in_main = True
        elif self.in_main and tag in VOID:
            self.start(tag, names, "/>")
        elif self.in_main:
            left_out = tag in LEFT_OUT or "hidden" in names or LEFT_OUT_CLASSES & set((names.get("class") or "").split())
            if self.skipped or left_out:
                self.skipped += 1
            else:
                self.open.append((tag, self.start(tag, names, ">")))

    def start(self, tag: str, names: dict[str, str | None], end: str) -> bool:
        """Write the beginning of an element. A link out of the book's pages becomes plain text."""
        for name in {"href", "src"} & names.keys():
            names[name] = self.address(names[name] or "")
        if self.skipped or None in (names.get("href", ""), names.get("src", "")):
            return False
        if tag in NAMESPACES:
            names["xmlns"] = NAMESPACES[tag]
        if "viewbox" in names:
            names["viewBox"] = names.pop("viewbox")
        kept = {name: value for name, value in names.items() if name not in ("loading", "download")}
        values = "".join(f' {name}="{escape(name if value is None else value)}"' for name, value in kept.items())
        self.written.append(f"<{tag}{values}{end}")
        return True

    def handle_endtag(self, tag: str) -> None:
        if tag == "main":
            self.in_main = False
        elif self.in_main and tag not in VOID:
            if self.skipped:
                self.skipped -= 1
            elif self.open:
                name, is_written = self.open.pop()
                self.written += [f"</{name}>"] if is_written else []

    def handle_data(self, text: str) -> None:
        if self.in_main and not self.skipped:
            # XML does not allow control characters.
            self.written.append(escape(re.sub("[\0-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]", "\ufffd", text), quote=False))

    def address(self, link: str) -> str | None:
        """Return the address in the EPUB, and note an image; None if it is not in the EPUB."""
        parts = urlsplit(link)
        if parts.scheme or parts.netloc or not parts.path:
            return link
        target = posixpath.normpath(posixpath.join(posixpath.dirname(self.page), unquote(parts.path)))
        if target in self.pages:
            return xhtml(parts.path) + (f"#{parts.fragment}" if parts.fragment else "")
        if Path(target).suffix in IMAGES and (self.root / target).is_file():
            self.images.add(target)
            return parts.path
        return None


def xhtml(page: str) -> str:
    return page.removesuffix(".html") + ".xhtml"


def document(page: str, title: str, content: str, language: str) -> str:
    text = f"""<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE html>
<html xmlns="http://www.w3.org/1999/xhtml" xmlns:epub="http://www.idpf.org/2007/ops" lang="{language}" xml:lang="{language}">
<head>
<title>{escape(title)}</title>
<link rel="stylesheet" type="text/css" href="{"../" * page.count("/")}page.css"/>
</head>
<body>
{content}</body>
</html>
"""
    try:
        parsed = ElementTree.fromstring(text)
    except ElementTree.ParseError as error:
        sys.exit(f"the page {page} does not become XHTML: {error}")
    for name in ("mi", "mn", "mo"):
        for element in parsed.iter(f"{{{NAMESPACES['math']}}}{name}"):
            if len(element):
                sys.exit(f"a formula of the page {page} is not valid MathML: <{name}> contains <{element[0].tag}>")
    return text


def package(items: list[str], spine: str, title: str, version: str, language: str) -> str:
    """Return the list of all files. The version ends with the date of its commit."""
    date = re.search(r"\d{4}-\d\d-\d\d", version)
    return f"""<?xml version="1.0" encoding="UTF-8"?>
<package xmlns="http://www.idpf.org/2007/opf" version="3.0" unique-identifier="id" xml:lang="{language}">
<metadata xmlns:dc="http://purl.org/dc/elements/1.1/">
<dc:identifier id="id">{escape(version)}, {language}</dc:identifier>
<dc:title>{escape(title)}</dc:title>
<dc:language>{language}</dc:language>
<meta property="dcterms:modified">{date[0] if date else "2025-01-01"}T00:00:00Z</meta>
</metadata>
<manifest>
<item id="nav" href="nav.xhtml" media-type="{XHTML}" properties="nav"/>
<item id="css" href="page.css" media-type="text/css"/>
{"".join(items)}</manifest>
<spine>
{spine}</spine>
</package>
"""


def properties(text: str) -> str:
    """Return the attribute that says which other languages a page contains."""
    found = [name for name, tag in {"mathml": "<math", "svg": "<svg"}.items() if tag in text]
    return f' properties="{" ".join(found)}"' if found else ""


def write(root: Path) -> None:
    home = root / "index.html"
    page = home.read_text()
    found = {name: re.search(pattern, page) for name, pattern in {
        "title": "<title>(?:.* - )?(.*)</title>",
        "version": '<footer class="version">([^<]*[^<, ])',
        "language": '<html lang="([^"]*)"',
        "description": '<meta name="description" content="([^"]*)"',
    }.items()}
    title, version, language, description = (match[1] if match else "" for match in found.values())
    titles = Contents(root).titles
    images: set[str] = set()
    texts = {page: "".join(Text(root, page, set(titles), images).written) for page in titles}
    items = [
        f'<item id="p{at}" href="{xhtml(page)}" media-type="{XHTML}"{properties(text)}/>\n'
        for at, (page, text) in enumerate(texts.items())
    ]
    items += [
        f'<item id="i{at}" href="{escape(image)}" media-type="{IMAGES[Path(image).suffix]}"/>\n'
        for at, image in enumerate(sorted(images))
    ]
    spine = "".join(f'<itemref idref="p{at}"/>\n' for at in range(len(titles)))
    entries = "".join(f'<li><a href="{xhtml(page)}">{escape(title)}</a></li>\n' for page, title in titles.items())
    contents = f'<nav epub:type="toc" id="toc">\n<h1>{escape(title)}</h1>\n<ol>\n{entries}</ol>\n</nav>\n'
    style = Path(__file__).parents[1] / "crates/book/src/publish/page.css"
    with ZipFile(root / NAME, "w", ZIP_DEFLATED) as epub:
        epub.writestr("mimetype", "application/epub+zip", ZIP_STORED)
        epub.writestr("META-INF/container.xml", CONTAINER)
        epub.writestr("package.opf", package(items, spine, f"{title}: {description}", version, language))
        epub.writestr("nav.xhtml", document("nav.html", title, contents, language))
        epub.write(style, "page.css")
        for name, text in texts.items():
            epub.writestr(xhtml(name), document(name, titles[name], text, language))
        for image in sorted(images):
            epub.write(root / image, image)
    link = f', <a href="{NAME}">{LINKS.get(language, LINKS["en"])}</a></footer>'
    home.write_text(page.replace("</footer>", link, 1))
    print(root / NAME)


def main() -> None:
    pages = Path(sys.argv[1])
    for contents in [pages / "toc.html", *sorted(pages.glob("*/toc.html"))]:
        write(contents.parent)


if __name__ == "__main__":
    main()
