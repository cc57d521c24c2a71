use super::*;

fn inside(content: &str) -> Result<String, SvgError> {
    let image = format!(
        "<svg xmlns=\"{SVG}\" xmlns:xlink=\"{XLINK}\" xmlns:other=\"urn:other\" width=\"1\" height=\"1\">\
         {content}</svg>"
    );
    reduce(&image).map(|svg| {
        let (_, content) = svg.text.split_once('>').expect("a root");
        content.strip_suffix("</svg>").expect("its end").to_owned()
    })
}

#[test]
fn size_and_title_are_read() {
    let read = |text| reduce(text).map(|svg| (svg.size, svg.title));
    assert_eq!(
        read("<svg width=\"600\" height=\"300.4px\"><title lang='en'>a &lt; b</title></svg>"),
        Ok(((600, 300), Some("a < b".into())))
    );
    assert_eq!(
        read("<?xml version='1.0'?>\n<svg\nviewBox='0 0 40 20' width='100%' aria-label='x'></svg>"),
        Ok(((40, 20), Some("x".into())))
    );
    assert_eq!(
        read("<svg width='72pt' height='1in'/>"),
        Ok(((96, 96), None))
    );
    assert_eq!(
        read("<svg viewBox='0\n0\t40 , 20.6'/>"),
        Ok(((40, 21), None))
    );
    // Less than a pixel is not a size.
    assert_eq!(read("<svg viewBox='0 0 0.4 0.4'/>"), Err(SvgError::NoSize));
    assert_eq!(read("<svg/>"), Err(SvgError::NoSize));
    assert_eq!(read("<p/>"), Err(SvgError::OtherRoot("p".into())));
    assert!(matches!(read("<p>"), Err(SvgError::NotXml(_))));
    let doctype = "<!DOCTYPE svg PUBLIC \"-//W3C//DTD SVG 1.1//EN\" \
                   \"http://www.w3.org/Graphics/SVG/1.1/DTD/svg11.dtd\">";
    assert!(read(&format!("{doctype}<svg width='1' height='1'/>")).is_ok());
}

#[test]
fn a_plain_image_is_kept() {
    for content in [
        "<title>one &amp; two</title>",
        "<text x=\"1\" style=\"fill:rgb(1, 2, 3); font-family:'A B'\">one = 1, <tspan>on = off</tspan></text>",
        "<g clip-path=\"url(#a)\" transform=\"translate(1 2) rotate(3)\"></g>",
        "<g aria-label=\"loss (train)\" fill=\"URL( '#a' )\"></g>",
        "<use xlink:href=\"#a\"></use><use href=\"#a\"></use>",
        "<image href=\"data:image/png;base64,AA\"></image>",
        "<style>.a &gt; b { fill: red; marker: url(#m) }</style>",
        "<text xml:space=\"preserve\">a  b</text>",
    ] {
        assert_eq!(inside(content).as_deref(), Ok(content));
    }
}

#[test]
fn elements_that_are_not_listed_are_refused() {
    for (content, name) in [
        ("<script>alert(1)</script>", "script"),
        (
            "<s:script xmlns:s=\"http://www.w3.org/2000/svg\"/>",
            "script",
        ),
        ("<SCRIPT href=\"#\"/>", "SCRIPT"),
        ("<foreignObject><p>x</p></foreignObject>", "foreignObject"),
        (
            "<animate attributeName=\"href\" to=\"javascript:alert(1)\"/>",
            "animate",
        ),
        ("<set attributeName=\"onload\" to=\"alert(1)\"/>", "set"),
        ("<g><handler type=\"x\"/></g>", "handler"),
        ("<filter><feImage href=\"#a\"/></filter>", "feImage"),
        ("<iframe src=\"https://example.com\"/>", "iframe"),
    ] {
        assert_eq!(
            inside(content),
            Err(SvgError::Element(name.into())),
            "{content}"
        );
    }
}

#[test]
fn invisible_parts_are_left_out() {
    for (content, reduced) in [
        ("<g onload=\"alert(1)\"/>", "<g></g>"),
        ("<g\nonclick='alert(1)' id='a'/>", "<g id=\"a\"></g>"),
        (
            "<g id=\"&gt;&quot;\" ONLOAD = \"alert(1)\"/>",
            "<g id=\"&gt;&quot;\"></g>",
        ),
        (
            "<a xlink:href=\"javascript:alert(1)\"><path/></a>",
            "<a><path></path></a>",
        ),
        ("<a href = \" java&#115;cript:alert(1)\"/>", "<a></a>"),
        (
            "<script xmlns='http://www.w3.org/1999/xhtml'>alert(1)</script>",
            "",
        ),
        (
            "<other:script/><g other:href='https://example.com' other:onload='x'/>",
            "<g></g>",
        ),
        ("<metadata><script>alert(1)</script></metadata>", ""),
        (
            "<!-- <script/> --><?xml-stylesheet href='https://example.com/x.css'?>",
            "",
        ),
        (
            "<text><![CDATA[<script>alert(1)</script>]]></text>",
            "<text>&lt;script&gt;alert(1)&lt;/script&gt;</text>",
        ),
        (
            "<g data-x='1' xml:base='https://example.com/' src='x'/>",
            "<g></g>",
        ),
    ] {
        assert_eq!(inside(content).as_deref(), Ok(reduced), "{content}");
    }
}

#[test]
fn addresses_outside_of_the_file_are_refused() {
    for content in [
        "<use href=\"data:image/svg+xml,x\"/>",
        "<use href=\"data:image/png;base64,AA\"/>",
        "<use xlink:href=\"https://example.com/x.svg#a\"/>",
        "<image href=\"https://example.com/x.png\"/>",
        "<image href=\"//example.com/x.png\"/>",
        "<image href=\" #a\"/>",
        "<image href=\"data:image/svg+xml;base64,AA\"/>",
        "<image href=\"data:image/png,<svg/>\"/>"
            .replace('<', "&lt;")
            .replacen("&lt;", "<", 1)
            .as_str(),
        "<linearGradient xlink:href=\"file:///etc/passwd\"/>",
    ] {
        assert!(
            matches!(inside(content), Err(SvgError::Address(_))),
            "{content}"
        );
    }
}

#[test]
fn styles_that_could_load_something_are_refused() {
    for content in [
        "<style>@import url(https://example.com)</style>",
        "<style>@import 'https://example.com'</style>",
        "<style>@font-face { src: local(x) }</style>",
        "<style><![CDATA[a{fill:url(//example.com/x)}]]></style>",
        "<g style=\"fill:url( '//example.com/x')\"/>",
        "<g style=\"fill:u\\72l(https://example.com/x)\"/>",
        "<g style=\"fill:image-set('https://example.com/x' 1x)\"/>",
        "<g style=\"fill:url&#40;https://example.com/x)\"/>",
        "<g style=\"fill:url(#a) url(https://example.com/x)\"/>",
        "<rect fill=\"url(https://example.com/x)\"/>",
        "<rect fill=\"u/**/rl(https://example.com/x)\"/>",
        "<path marker-end=\"url(data:image/svg+xml,x)\"/>",
        "<g filter=\"SRC('https://example.com/x')\"/>",
    ] {
        assert!(
            matches!(inside(content), Err(SvgError::Style(_))),
            "{content}"
        );
    }
}

#[test]
fn entities_and_broken_documents_are_refused() {
    let bomb = "<!DOCTYPE svg [<!ENTITY a \"aaaa\"><!ENTITY b \"&a;&a;\">]><svg width='1' height='1'>&b;</svg>";
    assert_eq!(reduce(bomb).err(), Some(SvgError::Entities));
    let parameter = "<!DOCTYPE svg [<!ENTITY % x SYSTEM \"file:///etc/passwd\"> %x;]><svg width='1' height='1'/>";
    assert_eq!(reduce(parameter).err(), Some(SvgError::Entities));
    for broken in [
        "&unknown;",
        "<g",
        "<g></svg>",
        "<unbound:g/>",
        "<g a='1' a='2'/>",
        "</svg><svg>",
    ] {
        assert!(
            matches!(inside(broken), Err(SvgError::NotXml(_))),
            "{broken}"
        );
    }
}

#[test]
fn deep_nesting_is_refused() {
    let deep = |n: usize| inside(&("<g>".repeat(n) + &"</g>".repeat(n)));
    assert!(deep(MAX_DEPTH - 1).is_ok());
    assert_eq!(deep(MAX_DEPTH), Err(SvgError::TooDeep(MAX_DEPTH)));
    assert_eq!(deep(100_000), Err(SvgError::TooDeep(MAX_DEPTH)));
}
