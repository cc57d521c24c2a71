//! The whole course as an EPUB, from the pages that mdBook has written.

mod xhtml;
mod zip;

use crate::error::Error;
use crate::html::escape;
use crate::paths::normalize;
use crate::url::{decode, is_external};
use roxmltree::Document;
use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{self, BufWriter};
use std::path::{Path, PathBuf};
use zip::Zip;

const NAME: &str = "taper.epub";
const TITLE: &str = "Taper: learning deep learning by running it, in Rust";

/// Converts the book in the folder `pages` to an EPUB, and adds a link to the file to the home page; returns the file.
///
/// # Errors
///
/// When a page does not become well-formed XHTML, or when a file cannot be read or written.
pub fn write_epub(pages: &Path) -> Result<PathBuf, Error> {
    let contents = contents(&read(&pages.join("toc.html"))?);
    let names: BTreeSet<&str> = contents.iter().map(|entry| entry.page.as_str()).collect();
    let (mut images, mut chapters, mut version) = (BTreeSet::new(), Vec::new(), String::new());
    for entry in &contents {
        let page = read(&pages.join(&entry.page))?;
        if version.is_empty() {
            version = between(&page, "<footer class=\"version\">", "<").to_owned();
        }
        let content = between(&page, "<main>", "</main>");
        let content = xhtml::convert(content, &mut |link| {
            address(&entry.page, link, &names, pages, &mut images)
        });
        let page = document(&entry.title, &up(&entry.page), &content);
        check(&entry.page, &page)?;
        chapters.push(page);
    }
    let package = package(&contents, &chapters, &images, &version);
    check("package.opf", &package)?;
    let navigation = document("Contents", "", &navigation(&contents));
    check("nav.xhtml", &navigation)?;
    let file = pages.join(NAME);
    let write = || -> io::Result<()> {
        let mut zip = Zip::new(BufWriter::new(File::create(&file)?));
        zip.store("mimetype", b"application/epub+zip")?;
        zip.compress("META-INF/container.xml", CONTAINER.as_bytes())?;
        zip.compress("package.opf", package.as_bytes())?;
        zip.compress("nav.xhtml", navigation.as_bytes())?;
        zip.compress("page.css", include_bytes!("../publish/page.css"))?;
        for (entry, page) in contents.iter().zip(&chapters) {
            zip.compress(&xhtml_name(&entry.page), page.as_bytes())?;
        }
        for image in &images {
            zip.compress(image, &fs::read(pages.join(image))?)?;
        }
        zip.finish()
    };
    write().map_err(Error::io("writing", &file))?;
    crate::pdf::link(&pages.join("index.html"), NAME, "as EPUB")?;
    Ok(file)
}

const CONTAINER: &str = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>
<container version=\"1.0\" xmlns=\"urn:oasis:names:tc:opendocument:xmlns:container\">
<rootfiles><rootfile full-path=\"package.opf\" media-type=\"application/oebps-package+xml\"/></rootfiles>
</container>
";

/// A page in the table of contents.
struct Entry {
    page: String,
    title: String,
}

/// Returns the pages in the order of the book, from the list that mdBook writes.
fn contents(list: &str) -> Vec<Entry> {
    let mut known = BTreeSet::new();
    let links = list.split("<a ").skip(1).filter_map(|link| {
        let page = between(link, "href=\"", "\"");
        let title = link.split_once('>')?.1.split_once("</a>")?.0;
        let is_new = page.ends_with(".html") && known.insert(page.to_owned());
        is_new.then(|| Entry {
            page: decode(page),
            title: plain(title),
        })
    });
    links.collect()
}

/// Returns the text of HTML without its elements.
fn plain(html: &str) -> String {
    let parts = html
        .split('<')
        .map(|part| part.split_once('>').map_or(part, |(_, text)| text));
    let text: String = parts.collect();
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Returns the address in the EPUB of a link or an image of a page; notes the image.
fn address(
    page: &str,
    link: &str,
    names: &BTreeSet<&str>,
    pages: &Path,
    images: &mut BTreeSet<String>,
) -> Option<String> {
    if link.starts_with('#') || is_external(link) {
        // An image of the page itself stays in it.
        return Some(link.to_owned());
    }
    let (path, anchor) = link
        .split_once('#')
        .map_or((link, ""), |(path, anchor)| (path, anchor));
    let target = normalize(
        &Path::new("/")
            .join(page)
            .with_file_name("")
            .join(decode(path)),
    );
    let target = target
        .strip_prefix("/")
        .ok()?
        .to_string_lossy()
        .into_owned();
    if names.contains(target.as_str()) {
        let hash = if anchor.is_empty() { "" } else { "#" };
        return Some(format!("{}{hash}{anchor}", xhtml_name(path)));
    }
    let is_image = media_type(&target).is_some() && pages.join(&target).is_file();
    is_image.then(|| {
        images.insert(target);
        path.to_owned()
    })
}

fn xhtml_name(page: &str) -> String {
    format!("{}.xhtml", page.trim_end_matches(".html"))
}

fn media_type(file: &str) -> Option<&'static str> {
    Some(match Path::new(file).extension()?.to_str()? {
        "svg" => "image/svg+xml",
        "png" => "image/png",
        "jpg" | "jpeg" => "image/jpeg",
        "gif" => "image/gif",
        _ => return None,
    })
}

fn up(page: &str) -> String {
    "../".repeat(page.matches('/').count())
}

fn document(title: &str, up: &str, content: &str) -> String {
    format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<!DOCTYPE html>\n\
         <html xmlns=\"http://www.w3.org/1999/xhtml\" xmlns:epub=\"http://www.idpf.org/2007/ops\" lang=\"en\" xml:lang=\"en\">\n\
         <head>\n<title>{title}</title>\n<link rel=\"stylesheet\" type=\"text/css\" href=\"{up}page.css\"/>\n</head>\n\
         <body>\n{content}</body>\n</html>\n"
    )
}

fn navigation(contents: &[Entry]) -> String {
    let entry = |entry: &Entry| {
        let page = escape(&xhtml_name(&entry.page));
        format!("<li><a href=\"{page}\">{}</a></li>\n", entry.title)
    };
    let entries: String = contents.iter().map(entry).collect();
    format!("<nav epub:type=\"toc\" id=\"toc\">\n<h1>Contents</h1>\n<ol>\n{entries}</ol>\n</nav>\n")
}

fn package(
    contents: &[Entry],
    chapters: &[String],
    images: &BTreeSet<String>,
    version: &str,
) -> String {
    let (mut manifest, mut spine) = (String::new(), String::new());
    for (i, (entry, page)) in contents.iter().zip(chapters).enumerate() {
        let properties = if page.contains("<math") {
            " properties=\"mathml\""
        } else {
            ""
        };
        let name = escape(&xhtml_name(&entry.page));
        manifest += &format!(
            "<item id=\"p{i}\" href=\"{name}\" media-type=\"application/xhtml+xml\"{properties}/>\n"
        );
        spine += &format!("<itemref idref=\"p{i}\"/>\n");
    }
    for (i, image) in images.iter().enumerate() {
        let media_type = media_type(image).unwrap_or_default();
        let image = escape(image);
        manifest += &format!("<item id=\"i{i}\" href=\"{image}\" media-type=\"{media_type}\"/>\n");
    }
    // The version ends with the date of its commit.
    let date = version
        .rsplit_once(" of ")
        .map_or("2025-01-01", |(_, date)| date);
    let version = escape(version);
    format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n\
         <package xmlns=\"http://www.idpf.org/2007/opf\" version=\"3.0\" unique-identifier=\"id\" xml:lang=\"en\">\n\
         <metadata xmlns:dc=\"http://purl.org/dc/elements/1.1/\">\n\
         <dc:identifier id=\"id\">{version}</dc:identifier>\n<dc:title>{TITLE}</dc:title>\n<dc:language>en</dc:language>\n\
         <meta property=\"dcterms:modified\">{date}T00:00:00Z</meta>\n</metadata>\n<manifest>\n\
         <item id=\"nav\" href=\"nav.xhtml\" media-type=\"application/xhtml+xml\" properties=\"nav\"/>\n\
         <item id=\"css\" href=\"page.css\" media-type=\"text/css\"/>\n{manifest}</manifest>\n\
         <spine>\n{spine}</spine>\n</package>\n"
    )
}

fn read(file: &Path) -> Result<String, Error> {
    fs::read_to_string(file).map_err(Error::io("reading", file))
}

/// Returns the text between the first `start` and the `end` that follows it.
fn between<'t>(text: &'t str, start: &str, end: &str) -> &'t str {
    let rest = text.split_once(start).map_or("", |(_, rest)| rest);
    rest.split_once(end).map_or("", |(inner, _)| inner)
}

/// Checks that a file is well-formed XML.
fn check(page: &str, text: &str) -> Result<(), Error> {
    let options = roxmltree::ParsingOptions {
        allow_dtd: true,
        ..roxmltree::ParsingOptions::default()
    };
    match Document::parse_with_options(text, options) {
        Ok(_) => Ok(()),
        Err(error) => Err(Error::Epub {
            page: page.to_owned(),
            reason: error.to_string(),
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pages_of_a_book_become_an_epub() {
        let folder = tempfile::tempdir().expect("a folder");
        let write = |name: &str, text: &str| {
            let file = folder.path().join(name);
            fs::create_dir_all(file.with_file_name("")).expect("a folder");
            fs::write(file, text).expect("a page");
        };
        write(
            "toc.html",
            "<ol><li><a href=\"index.html\">Start</a></li><li><a href=\"a/b.html\"><strong>1.</strong> A &amp; b</a></li></ol>",
        );
        write(
            "index.html",
            "<main>\n<p><a href=\"a/b.html#x\">b</a> <a href=\"api/t.html\">t</a></p><footer class=\"version\">Taper 1, abc of 2026-01-02</footer>\n</main>",
        );
        write(
            "a/b.html",
            "<main><img src=\"b_files/1.svg\" alt=\"x\"><br></main>",
        );
        write("a/b_files/1.svg", "<svg/>");
        let file = write_epub(folder.path()).expect("it is written");
        let bytes = fs::read(file).expect("a file");
        assert_eq!(&bytes[30..58], b"mimetypeapplication/epub+zip");
        let end = &bytes[bytes.len() - 22..];
        assert_eq!((&end[..4], end[10]), (&b"PK\x05\x06"[..], 8), "8 files");
        let home = fs::read_to_string(folder.path().join("index.html")).expect("the page");
        assert!(home.contains("<a href=\"taper.epub\">"), "{home}");
    }

    #[test]
    fn a_page_that_is_not_well_formed_is_named() {
        let error = check("a.html", "<p>a</i>")
            .expect_err("it is not")
            .to_string();
        assert!(
            error.starts_with("the page a.html does not become XHTML: "),
            "{error}"
        );
    }
}
