const gatheredPackage = require('../plugin-kit/src/threads/gathered-packages.cjs');

/** Every test file loads its modules anew; the bundled packages of the build are few files. */
module.exports = (request, options) => gatheredPackage(request) ?? options.defaultResolver(request, options);
