"""A window from which something can be dragged: drag_source.py uri|text VALUE.

Says `ready` once it is on the screen, `given` when the drop asked for the data, `end` when the drag is over.
"""

import sys

import gi

gi.require_version("Gdk", "3.0")
gi.require_version("Gtk", "3.0")
from gi.repository import Gdk, GLib, Gtk  # noqa: E402


def say(word):
    print(word, flush=True)


def main():
    kind, values = sys.argv[1], sys.argv[2:]
    targets = {
        "uri": [Gtk.TargetEntry.new("text/uri-list", 0, 0)],
        "text": [Gtk.TargetEntry.new("text/plain", 0, 1), Gtk.TargetEntry.new("UTF8_STRING", 0, 1)],
    }[kind]

    window = Gtk.Window(title="drag source")
    window.set_default_size(160, 120)
    handle = Gtk.EventBox()
    handle.add(Gtk.Label(label="drag me"))
    handle.drag_source_set(Gdk.ModifierType.BUTTON1_MASK, targets, Gdk.DragAction.COPY)

    def give(_widget, _context, data, info, _time):
        if info == 0:
            data.set_uris(values)
        else:
            data.set_text(values[0], -1)
        say("given")

    handle.connect("drag-data-get", give)
    handle.connect("drag-end", lambda *_: say("end"))
    window.add(handle)
    window.connect("map-event", lambda *_: GLib.idle_add(say, "ready"))
    window.show_all()
    Gtk.main()


main()
