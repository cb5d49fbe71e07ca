// Excerpts need the text of the pages, which a browser denies to pages that are files.
DOCUMENTATION_OPTIONS.SHOW_SEARCH_SUMMARY = location.protocol !== "file:";
