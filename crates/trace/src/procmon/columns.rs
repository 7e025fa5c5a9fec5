//! The columns of an export that matter here, wherever they stand.

/// A column. Process Monitor shows as many as the user chose, in the order they chose.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Column {
    TimeOfDay,
    DateAndTime,
    RelativeTime,
    CompletionTime,
    Duration,
    ProcessName,
    Pid,
    Tid,
    Operation,
    Path,
    Result,
    Detail,
}

const COLUMNS: [(&[u8], Column); 12] = [
    (b"timeofday", Column::TimeOfDay),
    (b"datetime", Column::DateAndTime),
    (b"relativetime", Column::RelativeTime),
    (b"completiontime", Column::CompletionTime),
    (b"duration", Column::Duration),
    (b"processname", Column::ProcessName),
    (b"pid", Column::Pid),
    (b"tid", Column::Tid),
    (b"operation", Column::Operation),
    (b"path", Column::Path),
    (b"result", Column::Result),
    (b"detail", Column::Detail),
];

impl Column {
    /// The column with this name: `Time of Day` in CSV, `Time_of_Day` in XML.
    pub(crate) fn named(name: &[u8]) -> Option<Column> {
        let letters = || name.iter().filter(|byte| byte.is_ascii_alphabetic()).map(u8::to_ascii_lowercase);
        COLUMNS.iter().find(|(known, _)| letters().eq(known.iter().copied())).map(|&(_, column)| column)
    }
}

/// Which field of a record is which column.
#[derive(Clone, Debug)]
pub(crate) struct Columns(Vec<Option<Column>>);

impl Columns {
    /// From the names in the first record. `None` if these are not names of Process Monitor's columns.
    pub(crate) fn of(header: &[&[u8]]) -> Option<Columns> {
        let columns = Columns(header.iter().map(|name| Column::named(name)).collect());
        let has = |column| columns.0.contains(&Some(column));
        (has(Column::Operation) && (has(Column::Pid) || has(Column::ProcessName) || has(Column::Path)))
            .then_some(columns)
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    pub(crate) fn at(&self, field: usize) -> Option<Column> {
        self.0.get(field).copied().flatten()
    }
}

/// One event. What is missing is `None`.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Row<'a>([Option<&'a [u8]>; COLUMNS.len()]);

impl<'a> Row<'a> {
    pub(crate) fn set(&mut self, column: Column, value: &'a [u8]) {
        self.0[column as usize] = Some(value);
    }

    pub(crate) fn get(&self, column: Column) -> Option<&'a [u8]> {
        self.0[column as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_known_by_their_names_in_both_exports() {
        assert_eq!(Column::named(b"Time of Day"), Some(Column::TimeOfDay));
        assert_eq!(Column::named(b"Time_of_Day"), Some(Column::TimeOfDay));
        assert_eq!(Column::named(b"Date & Time"), Some(Column::DateAndTime));
        assert_eq!(Column::named(b"PID"), Some(Column::Pid));
        assert_eq!(Column::named(b"Parent PID"), None);
        assert!(Columns::of(&[b"Detail", b"Operation", b"Path"]).is_some());
        assert!(Columns::of(&[b"Operation", b"Cost"]).is_none());
    }
}
