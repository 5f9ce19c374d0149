//! Walking XML from front to back, in constant memory.
//!
//! Entities are never expanded and a document type is skipped, so there is
//! nothing a bomb could blow up. A document that ends early is an error: what
//! follows the cut may be a failure.

use quick_xml::Reader;
use quick_xml::events::{BytesStart, Event};

use super::ReportProblem;

/// A step on the walk.
pub(super) enum XmlEvent<'e> {
    /// An element begins; its names and attributes.
    Begin(&'e BytesStart<'e>),
    /// An element of this name ends.
    End(&'e str),
}

/// Visits every element in order.
pub(super) fn walk(xml: &str, mut visit: impl FnMut(XmlEvent<'_>)) -> Result<(), ReportProblem> {
    let mut reader = Reader::from_str(xml);
    let mut depth = 0_usize;
    loop {
        match reader.read_event() {
            Ok(Event::Start(element)) => {
                depth += 1;
                visit(XmlEvent::Begin(&element));
            }
            Ok(Event::Empty(element)) => {
                visit(XmlEvent::Begin(&element));
                visit(XmlEvent::End(element.local_name().as_ref()));
            }
            Ok(Event::End(element)) => {
                depth = depth.saturating_sub(1);
                visit(XmlEvent::End(element.local_name().as_ref()));
            }
            Ok(Event::Eof) if depth == 0 => return Ok(()),
            Ok(Event::Eof) => return Err("is cut off: an element has no end".to_owned()),
            Ok(_) => {}
            Err(error) => return Err(format!("is no well-formed XML: {error}")),
        }
    }
}

/// The name of the outermost element.
pub(super) fn root(xml: &str) -> Result<String, ReportProblem> {
    let mut reader = Reader::from_str(xml);
    loop {
        match reader.read_event() {
            Ok(Event::Start(element) | Event::Empty(element)) => return Ok(element.local_name().as_ref().to_owned()),
            Ok(Event::Eof) => return Err("is XML without an element".to_owned()),
            Ok(_) => {}
            Err(error) => return Err(format!("is no well-formed XML: {error}")),
        }
    }
}

/// An attribute's text as it stands; numbers need no more.
fn attribute(element: &BytesStart<'_>, name: &str) -> Option<String> {
    let value = element.try_get_attribute(name).ok().flatten()?;
    Some(value.value.trim().to_owned())
}

/// An attribute's text with its entities read; empty where there is none.
pub(super) fn words(element: &BytesStart<'_>, name: &str) -> String {
    let raw = attribute(element, name).unwrap_or_default();
    quick_xml::escape::unescape(&raw).map_or_else(|_| raw.clone(), |text| text.into_owned())
}

/// An attribute that counts something.
pub(super) fn count(element: &BytesStart<'_>, name: &str) -> Option<u64> {
    attribute(element, name)?.parse().ok()
}

/// An attribute that is a share.
pub(super) fn share(element: &BytesStart<'_>, name: &str) -> Option<f64> {
    attribute(element, name)?.parse().ok()
}
