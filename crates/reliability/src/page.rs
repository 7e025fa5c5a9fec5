pub fn page(_: &crate::table::Table) -> String {
    String::new()
}
