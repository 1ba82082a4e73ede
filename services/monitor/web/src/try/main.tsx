import { render } from 'preact';
import '../styles/base.css';
import '../styles/parts.css';
import '../styles/episode.css';
import '../styles/try.css';
import { followTheme } from '../theme';
import { TryApp } from './try-app';

followTheme();
const root = document.getElementById('root');
if (root !== null) render(<TryApp />, root);
