//! Draw a program's expressions as a Graphviz graph.
