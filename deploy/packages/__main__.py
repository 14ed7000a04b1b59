"""What Python runs of /usr/lib/ioplateau: everything that is imported lies beside this file."""

import sys

from ioplateau.cli import main

sys.exit(main())
