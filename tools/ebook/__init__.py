"""The book to take away: one EPUB file, one PDF file, both made of the built pages.

``site``    the built book: its title, its parts, its pages
``page``    a built page as a page of a book on paper: no script, no fold, solutions at the end
``epub``    all of them in one EPUB file
``pdf``     all of them in one PDF file, printed by Chromium
``cover``   the picture on the front
"""
