"""The studio: the whole job in a browser. A local server, a page, processes that compute; no numerics of its own."""
