"""Parts of programs that other compilers take ("bring your own codegen")."""
