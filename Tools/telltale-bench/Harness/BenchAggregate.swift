/// Kinds of widgets that report all activities of the kind `tally` together.
enum BenchAggregate {
    /// As a kitchen's: of four such kinds, one adds up what each event changes, and three count what few events change.
    static func kind(_ number: Int) -> String {
        """
        {"kind": "all-\(number)", "type": "widget", "version": 1, "app": "com.example.bench", "title": "All",
         "families": ["systemSmall"], "audience": "all",
         "source": {"over": "tally", "where": "lifecycle != 'ended'",
           "values": {"open": "count", "stopped": {"count": "in(stopped)"},
             "sum": {"sum": "content.\(number % 4 == 3 ? "n" : "price")"}}},
         "views": {"systemSmall": {"title": "{{values.open}} {{values.stopped}} {{values.sum}}"}}}
        """
    }
}
