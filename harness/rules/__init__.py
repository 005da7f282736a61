"""Every rule, in order of precedence: the API reports one error, the first, so the order of these imports is contract.

Measured with pairs of faults (public probe, 2026-08-30): the key, the transport, the schema of the body field by field,
then stored state, then the transcript.
"""

import harness.rules.access
import harness.rules.content
import harness.rules.ids
import harness.rules.input
import harness.rules.pairing
import harness.rules.reasoning
import harness.rules.shape
import harness.rules.state
import harness.rules.transport
