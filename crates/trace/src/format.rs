//! [`Format`]: the formats of traces.

/// A format of traces, recognised by content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Format {
    /// Process Monitor's export as CSV.
    ProcmonCsv,
    /// Process Monitor's export as XML.
    ProcmonXml,
    /// The output of `strace`.
    Strace,
    /// The output of `perf trace`.
    PerfTrace,
}

impl Format {
    /// As it is called in sentences.
    pub fn name(self) -> &'static str {
        match self {
            Format::ProcmonCsv => "Process Monitor CSV",
            Format::ProcmonXml => "Process Monitor XML",
            Format::Strace => "strace",
            Format::PerfTrace => "perf trace",
        }
    }

    /// How to make a trace in this format tell how long calls take.
    pub fn how_to_get_durations(self) -> &'static str {
        match self {
            Format::ProcmonCsv | Format::ProcmonXml => {
                "the Duration column is missing: in Process Monitor, turn it on with Options → Select Columns → \
                 Duration (below \
                 'Event Details'), then save the trace again (File → Save…); what was recorded has it"
            }
            Format::Strace => {
                "run 'strace' with -T, which adds to each call how long it took: strace -f -T -ttt -y -o FILE COMMAND"
            }
            Format::PerfTrace => "run 'perf trace' without options that leave durations out",
        }
    }
}
