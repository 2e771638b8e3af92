//! Keep device functions, each distinct text once.

use std::collections::HashMap;
use std::fmt::Write;

#[derive(Default)]
pub(super) struct Functions {
    pub(super) text: String,
    known: HashMap<(String, String), String>,
    lists: HashMap<Vec<u32>, String>,
}

impl Functions {
    /// The name of a list of numbers in memory.
    pub(super) fn list(&mut self, numbers: impl Iterator<Item = u32>) -> String {
        let next = format!("list{}", self.lists.len());
        let text = &mut self.text;
        let entry = self.lists.entry(numbers.collect());
        entry
            .or_insert_with_key(|numbers| {
                let _ = write!(text, "static __device__ const u32 {next}[] = {{");
                numbers.iter().for_each(|number| {
                    let _ = write!(text, "{number}, ");
                });
                text.push_str("};\n");
                next
            })
            .clone()
    }

    /// The name of a function with these parameters and this body.
    pub(super) fn name(&mut self, parameters: String, body: String) -> String {
        let next = format!("f{}", self.known.len());
        let entry = self.known.entry((parameters, body));
        let text = &mut self.text;
        entry
            .or_insert_with_key(|(parameters, body)| {
                let _ =
                    writeln!(text, "static __device__ __noinline__ void {next}({parameters}) {{\n{body}}}");
                next
            })
            .clone()
    }
}
