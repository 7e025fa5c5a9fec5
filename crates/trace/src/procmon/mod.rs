//! Exports of Process Monitor: CSV and XML. Both become [`Row`]s, and rows become calls.

pub(crate) mod columns;
pub(crate) mod csv;
mod detail;
mod operation;
mod system;
mod xml;

pub(crate) use columns::Row;

use std::io;

use crate::analysis::Analysis;
use crate::buffer::Buffer;

use system::System;

/// Reads an export as CSV.
pub(crate) fn read_csv(buffer: &mut Buffer<'_>, analysis: &mut Analysis) -> io::Result<()> {
    let mut system = System::default();
    csv::read(buffer, analysis, &mut |row, analysis| system.row(row, analysis))?;
    system.finish(analysis);
    Ok(())
}

/// Reads an export as XML.
pub(crate) fn read_xml(buffer: &mut Buffer<'_>, analysis: &mut Analysis) -> io::Result<()> {
    let mut system = System::default();
    xml::read(buffer, analysis, &mut |row, analysis| system.row(row, analysis))?;
    system.finish(analysis);
    Ok(())
}
