const gatheredPackage = require('../plugin-kit/src/threads/gathered-packages.cjs');

/** Every test file loads its modules anew: of packages that the build has gathered, those few files. */
module.exports = (request, options) => gatheredPackage(request) ?? options.defaultResolver(request, options);
