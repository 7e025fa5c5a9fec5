//! Results as text, JSON, CSV and a picture.

mod csv;
mod json;
mod svg;
mod text;
